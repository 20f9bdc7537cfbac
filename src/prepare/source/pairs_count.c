#include <inttypes.h>

#include "prepare/source/pairs_part.h"

/* Where counting stands, in bytes of the files, for the progress line. */
struct count {
    struct progress *progress;
    uint64_t n_done; /* of the files before */
};

static void show(const struct count *c, const struct source *s)
{
    if (s->n_rows % 4096 == 0)
        progress_update(c->progress, (c->n_done + source_bytes_read(s)) >> 20);
}

static status count_side(const struct pairs *p, const struct pairs_file *f, int side,
                         struct count *c, uint64_t *n, struct err *err)
{
    struct source s;
    bool has = true;
    status result = pairs_part_open(p, f, side, &s, err);

    if (result != OK)
        return result;
    while (result == OK && has) {
        result = source_next(&s, &has, err);
        show(c, &s);
    }
    *n = s.n_rows;
    c->n_done += f->n_bytes[side];
    source_close(&s);
    return result;
}

/* Two test sets are read side by side, so that their numbers are compared. */
static bool is_by_number(const struct pairs_file *f)
{
    return !f->is_both && f->side_kind[0] == SOURCE_SGM && f->side_kind[1] == SOURCE_SGM;
}

static status compare_numbers(struct pairs *p, size_t at, struct err *err)
{
    struct pairs one = {.file = &p->file[at], .n_files = 1, .reading = p->reading};
    struct pairs_row row;
    bool has = true;
    status result = OK;

    while (result == OK && has)
        result = pairs_next(&one, &row, &has, err);
    pairs_rewind(&one);
    return result;
}

static status count_file(struct pairs *p, size_t at, struct count *c, struct err *err)
{
    struct pairs_file *f = &p->file[at];
    uint64_t n[PAIRS_SIDES];

    TRY(count_side(p, f, PAIRS_SOURCE, c, &n[PAIRS_SOURCE], err));
    n[PAIRS_TARGET] = n[PAIRS_SOURCE];
    if (!f->is_both)
        TRY(count_side(p, f, PAIRS_TARGET, c, &n[PAIRS_TARGET], err));
    for (int s = 0; s < PAIRS_SIDES; s++)
        if (n[s] == 0)
            return err_set(err, ERR_FORMAT, "%s: %s", f->path[s],
                           f->n_bytes[s] ? "there is no text in it"
                                         : "the file is empty");
    if (is_by_number(f))
        TRY(compare_numbers(p, at, err));
    if (n[PAIRS_SOURCE] != n[PAIRS_TARGET])
        return pairs_part_unequal(p, at, n[PAIRS_SOURCE], n[PAIRS_TARGET], err);
    f->n_lines = n[PAIRS_SOURCE];
    p->n_lines += f->n_lines;
    return OK;
}

status pairs_count(struct pairs *p, struct progress *progress, struct err *err)
{
    struct count c = {.progress = progress};

    p->n_lines = 0;
    for (size_t i = 0; i < p->n_files; i++)
        TRY(count_file(p, i, &c, err));
    return OK;
}
