#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "prepare/prepare_stages.h"

static status open_text(struct prepare_text *t, const struct prepare *p, struct err *err)
{
    static const char *const names[PAIRS_SIDES] = {"clean.source", "clean.target"};
    char path[FILE_PATH_MAX];

    for (int s = 0; s < PAIRS_SIDES; s++) {
        TRY(work_path(&p->work, path, names[s], err));
        TRY(line_reader_open(&t->side[s], path, path, err));
        line_reader_keep_mark(&t->side[s]);
    }
    if (strcmp(p->config->duplicates, "keep") == 0)
        return OK;
    TRY(work_path(&p->work, path, "duplicates", err));
    return file_map_open(&t->duplicate, path, err);
}

status prepare_text_open(struct prepare_text *t, const struct prepare *p, struct err *err)
{
    *t = (struct prepare_text){0};
    if (open_text(t, p, err) == OK)
        return OK;
    prepare_text_close(t);
    return err->code;
}

void prepare_text_close(struct prepare_text *t)
{
    for (int s = 0; s < PAIRS_SIDES; s++)
        line_reader_close(&t->side[s]);
    file_map_close(&t->duplicate);
}

static bool is_duplicate(const struct prepare_text *t, uint64_t i)
{
    return t->duplicate.data && (t->duplicate.data[i / 8] >> i % 8 & 1);
}

status prepare_text_next(struct prepare_text *t, struct line side[PAIRS_SIDES], bool *has,
                         struct err *err)
{
    bool has_target;

    do {
        TRY(line_reader_next(&t->side[PAIRS_SOURCE], &side[PAIRS_SOURCE], has, err));
        TRY(line_reader_next(&t->side[PAIRS_TARGET], &side[PAIRS_TARGET], &has_target,
                             err));
        if (*has != has_target)
            return err_set(err, ERR_FORMAT, "%s changed while it was read",
                           t->side[PAIRS_SOURCE].in.name);
    } while (*has && is_duplicate(t, t->n_read++));
    return OK;
}

status prepare_text_where(const struct prepare *p, uint64_t i, struct pairs_row *row,
                          struct err *err)
{
    char path[FILE_PATH_MAX];
    struct prepare_place place;

    TRY(work_path(&p->work, path, "clean.places", err));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    const ssize_t n = pread(fd, &place, sizeof place, (off_t)(i * sizeof place));
    close(fd);
    if (n != sizeof place)
        return err_set(err, ERR_FORMAT, "%s was cut", path);
    row->file = (size_t)place.file;
    memcpy(row->line, place.line, sizeof row->line);
    return OK;
}

status prepare_batch_open(struct prepare_batch *b, struct err *err)
{
    *b = (struct prepare_batch){.text = str_new(0)};
    return mem_alloc(&b->pair, PREPARE_BATCH_PAIRS, sizeof *b->pair, err);
}

void prepare_batch_close(struct prepare_batch *b)
{
    str_release(&b->text);
    free(b->pair);
    *b = (struct prepare_batch){0};
}

void prepare_batch_reset(struct prepare_batch *b)
{
    str_reset(&b->text);
    b->n = 0;
}

bool prepare_batch_is_full(const struct prepare_batch *b)
{
    return b->n == PREPARE_BATCH_PAIRS || b->text.len >= PREPARE_BATCH_BYTES;
}

status prepare_batch_add(struct prepare_batch *b, const struct pairs_row *row,
                         struct err *err)
{
    struct prepare_batch_pair *p = &b->pair[b->n++];

    *p = (struct prepare_batch_pair){.file = row->file, .is_cut = row->is_cut};
    for (int s = 0; s < PAIRS_SIDES; s++) {
        p->at[s] = b->text.len;
        p->n_bytes[s] = row->side[s].n_bytes;
        p->line[s] = row->line[s];
        str_add(&b->text, row->side[s].text, row->side[s].n_bytes);
    }
    return str_check(&b->text, "a batch of pairs", err);
}

struct pairs_row prepare_batch_row(const struct prepare_batch *b, size_t i)
{
    const struct prepare_batch_pair *p = &b->pair[i];
    struct pairs_row row = {.file = p->file, .is_cut = p->is_cut};

    for (int s = 0; s < PAIRS_SIDES; s++) {
        row.side[s] = (struct line){str_text(&b->text) + p->at[s], p->n_bytes[s]};
        row.line[s] = p->line[s];
    }
    return row;
}
