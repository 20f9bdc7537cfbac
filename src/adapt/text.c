#include "adapt/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "adapt/tuning.h"
#include "base/file.h"
#include "corpus/checksum.h"
#include "corpus/dataset.h"
#include "prepare/source/pairs.h"

bool text_is_ready(const struct text *t)
{
    char mark[FILE_PATH_MAX];
    struct err ignored;

    return file_join(mark, sizeof mark, t->how.out, DATASET_MARK, &ignored) == OK &&
           file_exists(mark);
}

static status open_pairs(struct text *t, struct pairs *p, struct err *err)
{
    const struct prepare_config *c = &t->how;
    struct pairs_lists lists = {
        c->source, c->target, c->pairs, {.lang = {c->source_lang, c->target_lang}}};

    TRY(source_columns(lists.reading.column, c->columns, err));
    TRY(pairs_open(p, &lists, err));
    for (size_t i = 0; i < p->n_files; i++)
        for (int s = 0; s < PAIRS_SIDES; s++)
            if (p->file[i].spool[s] >= 0)
                return err_set(err, ERR_USAGE,
                               "%s is a pipe, and text to adapt to is read again when an "
                               "adaptation goes on: put it into a file",
                               p->file[i].path[s]);
    return OK;
}

status text_find(struct text *t, struct err *err)
{
    RELEASED_BY(pairs_close) struct pairs p = {0};
    struct checksum sum = checksum_start();

    TRY(open_pairs(t, &p, err));
    for (size_t i = 0; i < p.n_files; i++)
        for (int s = 0; s < PAIRS_SIDES; s++) {
            const struct pairs_file *f = &p.file[i];
            checksum_add(&sum, f->path[s], strlen(f->path[s]) + 1);
            checksum_add(&sum, &f->n_bytes[s], sizeof f->n_bytes[s]);
            checksum_add(&sum, &f->changed[s], sizeof f->changed[s]);
        }
    t->fingerprint = checksum_value(&sum);
    return OK;
}

/* ---- languages ---- */

static bool is_language(const struct language_guess *g, const char *name)
{
    const size_t n = strcspn(name, "-_"); /* "en" of "en-GB" */

    return *name && strlen(g->name) == n && strncmp(g->name, name, n) == 0;
}

static status compare_languages(const struct text *t, const struct language side[],
                                struct progress *progress, struct err *err)
{
    const char *const want[] = {t->how.source_lang, t->how.target_lang};
    const struct language_guess is[] = {language_guess(&side[0]),
                                        language_guess(&side[1])};
    const double sure = 0.9;
    char note[200];

    if (is_language(&is[0], want[1]) && is_language(&is[1], want[0]))
        return err_set(err, ERR_USAGE,
                       "the %s text looks like %s to %s, and the model translates %s to "
                       "%s: swap its sides, which columns=2,1 does for a .tsv",
                       t->what, is[0].name, is[1].name, want[0], want[1]);
    for (int s = 0; s < PAIRS_SIDES; s++) {
        if (!*want[s] || !*is[s].name || is[s].confidence < sure ||
            is_language(&is[s], want[s]))
            continue;
        snprintf(note, sizeof note,
                 "warning: %ss of the %s text look like %s (%d %% sure); the model "
                 "knows %s",
                 s ? "target" : "source", t->what, is[s].name,
                 (int)(100 * is[s].confidence), want[s]);
        progress_note(progress, note);
    }
    return OK;
}

/* The first pairs say enough. */
static status look_at_languages(const struct text *t, struct pairs *p,
                                struct language side[PAIRS_SIDES],
                                struct progress *progress, struct err *err)
{
    enum { ENOUGH = 10000 };
    struct pairs_row row;
    bool has = true;

    for (int s = 0; s < PAIRS_SIDES; s++)
        TRY(language_open(&side[s], err));
    pairs_rewind(p);
    for (int i = 0; i < ENOUGH; i++) {
        TRY(pairs_next(p, &row, &has, err));
        if (!has)
            break;
        for (int s = 0; s < PAIRS_SIDES; s++)
            language_add(&side[s], row.side[s]);
    }
    return compare_languages(t, side, progress, err);
}

status text_look(struct text *t, struct progress *progress, struct err *err)
{
    RELEASED_BY(pairs_close) struct pairs p = {0};
    struct language side[PAIRS_SIDES] = {0};
    struct progress silent = {0};

    TRY(open_pairs(t, &p, err));
    TRY(pairs_count(&p, &silent, err)); /* what is refused is one sentence */
    t->n_pairs = p.n_lines;
    if (t->n_pairs < TUNING_PAIRS_LEAST)
        return err_set(err, ERR_USAGE,
                       "the %s text has %" PRIu64 " pairs; at least %d are needed, or "
                       "nothing can be held out that would tell what they did",
                       t->what, t->n_pairs, TUNING_PAIRS_LEAST);
    const status result = look_at_languages(t, &p, side, progress, err);
    for (int s = 0; s < PAIRS_SIDES; s++)
        language_close(&side[s]);
    return result;
}

status text_prepare(struct text *t, struct progress *progress, struct err *err)
{
    struct prepare_stats stats;

    t->how.valid = t->how.test = (int64_t)tuning_held_out(t->n_pairs);
    if (prepare_run(&t->how, progress, &stats, err) != OK)
        return err_wrap(err, "the %s text", t->what);
    return OK;
}
