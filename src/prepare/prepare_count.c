#include <inttypes.h>

#include "prepare/prepare_stages.h"

/* The counts of every file, for a run that goes on after this stage. */
static status keep_counts(struct prepare *p, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct str bytes = str_new(0);

    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        for (size_t i = 0; i < p->input[set].n_files; i++) {
            str_add(&bytes, &p->input[set].file[i].n_lines, sizeof(uint64_t));
            str_add(&bytes, &p->input[set].file[i].n_skipped, sizeof(uint64_t));
        }
    status result = str_check(&bytes, "the line counts", err);
    if (result == OK)
        result = work_path(&p->work, path, "lines", err);
    if (result == OK)
        result = file_write(path, bytes.data, bytes.len, err);
    str_release(&bytes);
    TRY(result);
    return work_add(&p->made, err, "lines");
}

static status take_counts(struct prepare *p, const uint64_t *n, size_t n_left,
                          struct err *err)
{
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++) {
        struct pairs *in = &p->input[set];
        in->n_lines = 0;
        for (size_t i = 0; i < in->n_files; i++, n += 2, n_left -= 2) {
            if (n_left < 2)
                return err_set(err, ERR_FORMAT, "the line counts of %s are damaged",
                               p->work.dir);
            in->file[i].n_lines = n[0];
            in->file[i].n_skipped = n[1];
            in->n_lines += n[0];
        }
    }
    return OK;
}

status prepare_recall_count(struct prepare *p, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct file_map map;

    TRY(work_path(&p->work, path, "lines", err));
    TRY(file_map_open(&map, path, err));
    const status result = take_counts(p, (const uint64_t *)(const void *)map.data,
                                      map.n_bytes / sizeof(uint64_t), err);
    file_map_close(&map);
    return result;
}

/* Units that were passed over are known after a whole reading. */
static status count_all(struct prepare *p, struct err *err)
{
    uint64_t n_bytes = 0;

    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        n_bytes += pairs_bytes(&p->input[set]);
    progress_begin(p->progress, "counting", "MiB", (n_bytes >> 20) + 1);
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++) {
        TRY(pairs_count(&p->input[set], p->progress, err));
        if (p->input[set].n_lines > INT32_MAX)
            return err_set(err, ERR_USAGE, "%" PRIu64 " pairs, at most %d are taken",
                           p->input[set].n_lines, INT32_MAX);
    }
    progress_end(p->progress, (n_bytes >> 20) + 1);
    return OK;
}

status prepare_stage_count(struct prepare *p, struct err *err)
{
    const struct pairs *in = &p->input[PREPARE_TRAIN];
    struct prepare_stage_stats *s = &p->stats->stage[PREPARE_COUNT];

    TRY(count_all(p, err));
    for (size_t i = 0; i < in->n_files; i++)
        for (int side = 0; side < PAIRS_SIDES; side++)
            if (side == PAIRS_SOURCE || !in->file[i].is_both)
                s->before.n_bytes[side] += in->file[i].n_bytes[side];
    s->before.n_pairs = in->n_lines;
    s->after = s->before;
    TRY(prepare_open_work(p, err));
    return keep_counts(p, err);
}
