/* A model of a server, while its file changes. */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/file.h"
#include "serve/translators.h"

static struct err err;
static const char *path;
static atomic_bool is_over;

/* Cut it short and write it again where it lies, as `cp` over it does. */
static void *rewrite(void *arg)
{
    const struct file_map *model = arg;
    struct err ignored;
    int fd;

    if (file_open_regular(&fd, path, O_RDWR, &ignored) != OK)
        return NULL;
    while (!atomic_load(&is_over)) {
        if (ftruncate(fd, 100) == 0)
            (void)!pwrite(fd, model->data, model->n_bytes, 0);
        usleep(300);
    }
    close(fd);
    return NULL;
}

TEST(a_file_that_is_cut_short_while_it_is_loaded_is_an_error_at_most)
{
    struct translators_options o = {.n_threads = 1, .n_seats = 1, .has_shortlist = true};
    struct translators *t;
    struct file_map model;
    pthread_t writer;

    path = test_path("live.ferry");
    CHECK_OK(opt_defaults(translate_config_table, &o.search, &err), &err);
    CHECK_OK(file_map_open(&model, test_data("model.ferry"), &err), &err);
    CHECK_OK(file_write(path, model.data, model.n_bytes, &err), &err);
    CHECK(pthread_create(&writer, NULL, rewrite, &model) == 0);
    for (int i = 0; i < 300; i++) {
        if (translators_open(&t, path, &o, &err) != OK) {
            CHECK(strstr(err.msg, path) && !strstr(err.msg, "/proc/"));
            continue;
        }
        CHECK_STR(translators_source(t), "en");
        translators_close(t);
    }
    atomic_store(&is_over, true);
    pthread_join(writer, NULL);
    file_map_close(&model);
}
