#include "corpus/verify.h"

#include <string.h>

static void *work(void *arg)
{
    struct verify *v = arg;

    v->err.code = OK;
    (void)(dataset_verify(v->data, &v->err) == OK);
    atomic_store(&v->is_done, true);
    return NULL;
}

status verify_start(struct verify *v, const struct dataset *data, struct err *err)
{
    *v = (struct verify){.data = data};
    const int code = pthread_create(&v->thread, NULL, work, v);
    if (code != 0)
        return err_set(err, ERR_DEVICE, "cannot start a thread: %s", strerror(code));
    v->is_running = true;
    return OK;
}

bool verify_has_failed(const struct verify *v)
{
    return atomic_load(&v->is_done) && v->err.code != OK;
}

status verify_finish(struct verify *v, struct err *err)
{
    if (v->is_running)
        pthread_join(v->thread, NULL);
    v->is_running = false;
    if (v->err.code == OK)
        return OK;
    *err = v->err;
    return err->code;
}
