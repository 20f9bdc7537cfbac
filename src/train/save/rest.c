#include "train/save/rest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "format/tf/tensor_bundle.h"
#include "recipe/params.h"

static status path_of(char path[FILE_PATH_MAX], const struct rest *r, struct err *err)
{
    return file_path(path, err, "%s/" REST_DIR "/%lld-rank-%d", r->run,
                     (long long)r->state->step, r->comm->rank);
}

/* ---- what it consists of ---- */

/* Whose it is: equal where it may be read. */
struct owner {
    int64_t number, step, size, rank, n_nodes, node, local_rank;
};

static struct owner owner_of(const struct rest *r, uint64_t number)
{
    const struct comm *c = r->comm;

    return (struct owner){(int64_t)number, r->state->step, c->size,      c->rank,
                          c->n_nodes,      c->node,        c->local_rank};
}

/* The counters and the loss scale of a node that trains alone; all exact as doubles. */
enum { N_NUMBERS = 10 };

static void get_numbers(const struct state *s, double x[N_NUMBERS])
{
    const struct loss_scale *l = &s->scale;
    const double all[N_NUMBERS] = {(double)s->n_skipped,     (double)s->skipped_in_a_row,
                                   (double)l->scale,         (double)l->iteration,
                                   (double)l->last_overflow, (double)l->x_hat,
                                   (double)l->slow_x_hat,    (double)l->xsquared_hat,
                                   (double)l->b1_correction, (double)l->b2_correction};

    memcpy(x, all, sizeof all);
}

static void set_numbers(struct state *s, const double x[N_NUMBERS])
{
    s->n_skipped = (int64_t)x[0];
    s->skipped_in_a_row = (int64_t)x[1];
    s->scale = (struct loss_scale){.rule = s->scale.rule,
                                   .scale = (float)x[2],
                                   .iteration = (int64_t)x[3],
                                   .last_overflow = (int64_t)x[4],
                                   .x_hat = (float)x[5],
                                   .slow_x_hat = (float)x[6],
                                   .xsquared_hat = (float)x[7],
                                   .b1_correction = (float)x[8],
                                   .b2_correction = (float)x[9]};
}

/* A tensor in host memory, or on the device. */
struct item {
    const char *name;
    enum tensor_dtype dtype;
    uint64_t n; /* elements; 0: there is none */
    void *host;
    struct mat flat; /* where host is NULL */
};

enum { N_ITEMS = 6 };

/* By name, as the format wants them. */
static void list_items(struct item items[N_ITEMS], const struct rest *r,
                       struct owner *owner, double numbers[N_NUMBERS])
{
    const struct optim *o = r->optim;
    const struct item all[N_ITEMS] = {
        {"m", TENSOR_FLOAT, o ? o->m.cols : 0, .flat = o ? o->m : (struct mat){0}},
        {"norms", TENSOR_DOUBLE, o && o->norms ? o->params->n_list : 0,
         o ? o->norms : NULL},
        {"numbers", TENSOR_DOUBLE, o ? N_NUMBERS : 0, numbers},
        {"owner", TENSOR_INT64, sizeof *owner / sizeof(int64_t), owner},
        {"residual", TENSOR_FLOAT, r->residual ? r->n_residual : 0, r->residual},
        {"v", TENSOR_FLOAT, o && o->v.mem ? o->v.cols : 0,
         .flat = o ? o->v : (struct mat){0}}};

    memcpy(items, all, sizeof all);
}

static size_t bytes_of(const struct item *i)
{
    return (size_t)i->n * tensor_dtype_bytes((int)i->dtype);
}

/* ---- writing ---- */

static status write_item(struct tensor_bundle_writer *w, const struct rest *r,
                         const struct item *i, struct err *err)
{
    float *copy = NULL;

    if (!i->n)
        return OK;
    TRY(tensor_bundle_add(w, i->name, i->dtype, &i->n, 1, err));
    if (!i->host) {
        TRY(mem_alloc(&copy, i->n, sizeof *copy, err));
        device_download(r->optim->device, copy, i->flat);
    }
    const status result =
        tensor_bundle_add_bytes(w, copy ? (void *)copy : i->host, bytes_of(i), err);
    free(copy);
    return result;
}

/* A link would lead out of the run directory. */
static int open_dir(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static status make_dir(const char *run, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_path(path, err, "%s/" REST_DIR, run));
    TRY(file_make_dirs(path, err));
    const int fd = open_dir(path);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s is not a directory of the run: %s", path,
                       strerror(errno));
    close(fd);
    return OK;
}

status rest_write(const struct rest *r, uint64_t number, struct err *err)
{
    struct owner owner = owner_of(r, number);
    struct tensor_bundle_writer w;
    struct item items[N_ITEMS];
    double numbers[N_NUMBERS];
    char path[FILE_PATH_MAX];

    get_numbers(r->state, numbers);
    list_items(items, r, &owner, numbers);
    TRY(make_dir(r->run, err));
    TRY(path_of(path, r, err));
    TRY(tensor_bundle_begin(&w, path, err));
    status result = OK;
    for (size_t i = 0; i < N_ITEMS; i++)
        THEN(result, write_item(&w, r, &items[i], err));
    if (result == OK)
        return tensor_bundle_finish(&w, err);
    tensor_bundle_abort(&w);
    return result;
}

/* ---- reading ---- */

static status read_item(const struct tensor_bundle *b, const struct rest *r,
                        const struct item *i, struct err *err)
{
    const struct tensor_entry *e = tensor_bundle_find(b, i->name);
    const size_t n = bytes_of(i);
    float *copy = NULL;

    if (!i->n)
        return OK;
    if (!e || e->dtype != (int)i->dtype || e->n_bytes != n)
        return err_set(err, ERR_FORMAT, "tensor %s is missing or of another size",
                       i->name);
    if (!i->host)
        TRY(mem_alloc(&copy, i->n, sizeof *copy, err));
    const status result =
        tensor_bundle_copy(b, e, copy ? (void *)copy : i->host, 1, n, n, err);
    if (result == OK && copy)
        device_upload(r->optim->device, i->flat, copy);
    free(copy);
    return result;
}

static status read_all(const struct tensor_bundle *b, const struct rest *r,
                       uint64_t number, struct err *err)
{
    const struct owner mine = owner_of(r, number);
    struct owner owner = {0};
    struct item items[N_ITEMS];
    double numbers[N_NUMBERS];

    list_items(items, r, &owner, numbers);
    const struct item only_owner = {"owner", TENSOR_INT64, sizeof owner / sizeof(int64_t),
                                    &owner};
    TRY(read_item(b, r, &only_owner, err));
    if (memcmp(&owner, &mine, sizeof mine) != 0)
        return err_set(err, ERR_FORMAT, "it is of other ranks or of another stop");
    for (size_t i = 0; i < N_ITEMS; i++)
        TRY(read_item(b, r, &items[i], err));
    if (r->optim)
        set_numbers(r->state, numbers);
    return OK;
}

status rest_read(const struct rest *r, uint64_t number, struct err *err)
{
    struct tensor_bundle b;
    char path[FILE_PATH_MAX];

    TRY(path_of(path, r, err));
    TRY(tensor_bundle_open(&b, path, err));
    const status result = read_all(&b, r, number, err);
    tensor_bundle_close(&b);
    return result == OK ? OK : err_wrap(err, "%s", path);
}

/* ---- removing ---- */

/* The step of a file of ours; -1: not one. */
static int64_t step_of(const char *name)
{
    long long step;
    int rank, end = 0;

    if (sscanf(name, "%lld-rank-%d.%n", &step, &rank, &end) < 2 || !end || step < 0)
        return -1;
    const bool is_ours = strcmp(name + end, "index") == 0 ||
                         strcmp(name + end, "data-00000-of-00001") == 0;
    return is_ours ? step : -1;
}

void rest_sweep(const char *run, int64_t step)
{
    char path[FILE_PATH_MAX];
    struct err ignored;

    if (file_path(path, &ignored, "%s/" REST_DIR, run) != OK)
        return;
    const int fd = open_dir(path);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *e; d && (e = readdir(d));) {
        const int64_t found = step_of(e->d_name);
        if ((found >= 0 && found != step) || file_is_abandoned(e->d_name))
            unlinkat(fd, e->d_name, 0);
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    rmdir(path); /* fails while there is something in it */
}
