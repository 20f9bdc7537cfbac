#include "http/mhd_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static status find(void *so, const char *name, void *to, struct err *err)
{
    void *at = dlsym(so, name);

    if (!at)
        return err_set(err, ERR_USAGE,
                       "libmicrohttpd.so.12 here has no %s: it is too old", name);
    memcpy(to, &at, sizeof at); /* C has no conversion to a pointer to a function */
    return OK;
}

static status fill(struct mhd_library *lib, struct err *err)
{
    void *so = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

    if (!so)
        return err_set(err, ERR_USAGE,
                       "HTTP needs libmicrohttpd, which cannot be opened (%s); on "
                       "Debian: apt-get install libmicrohttpd12",
                       dlerror());
#define FIND(name) TRY(find(so, "MHD_" #name, &lib->name, err));
    MHD_LIBRARY_LIST(FIND)
#undef FIND
    return OK;
}

status mhd_library_open(const struct mhd_library **out, struct err *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct mhd_library lib;
    static bool is_open;

    *out = &lib;
    pthread_mutex_lock(&mutex);
    const status result = is_open ? OK : fill(&lib, err);
    is_open = result == OK;
    pthread_mutex_unlock(&mutex);
    return result;
}
