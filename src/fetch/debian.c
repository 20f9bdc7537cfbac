#include "fetch/debian.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "fetch/apt.h"
#include "fetch/debian_align.h"
#include "fetch/debian_pairs.h"
#include "fetch/debian_text.h"
#include "fetch/ledger.h"
#include "fetch/tally.h"
#include "format/stream.h"

/* All that is known of the two languages on the way to pairs. */
struct material {
    struct str bytes[N_ALIGN_SIDES];
    struct debian_text text[N_ALIGN_SIDES];
    struct debian_align_stats align;
    struct debian_pairs pairs;
    uint64_t n_common, n_left[N_FETCH_SETS];
    enum fetch_set set; /* of the description at hand */
};

static const char *const langs[N_ALIGN_SIDES] = {"en", "de"};

static void material_release(struct material *m)
{
    for (int s = 0; s < N_ALIGN_SIDES; s++) {
        debian_text_release(&m->text[s]);
        str_release(&m->bytes[s]);
    }
    debian_pairs_release(&m->pairs);
}

/* A whole Translation file, packed or not, behind what is there. */
static status read_file(struct str *out, const char *path, struct err *err)
{
    unsigned char buf[1 << 16];
    struct stream s;
    size_t got = 1;
    status result;

    TRY(stream_open(&s, path, path, err));
    do {
        result = stream_read(&s, buf, sizeof buf, &got, err);
        if (result == OK)
            str_add(out, buf, got);
    } while (result == OK && got && !out->bad);
    stream_close(&s);
    TRY(result);
    return str_check(out, path, err);
}

static status read_side(struct material *m, int side, const char *path,
                        struct ledger *ledger, const char *from, struct err *err)
{
    struct str *bytes = &m->bytes[side];
    struct ledger_entry e = {.from = from};
    struct tally t;
    char name[32];

    TRY(read_file(bytes, path, err));
    TRY(debian_text_add(&m->text[side], str_text(bytes), bytes->len, langs[side], err));
    if (m->text[side].n == 0)
        return err_set(err, ERR_FORMAT,
                       "%s: has no descriptions; a Translation-%s file of a Debian "
                       "archive is wanted",
                       path, langs[side]);
    debian_text_sort(&m->text[side]);
    tally_init(&t);
    tally_add(&t, bytes->data, bytes->len);
    e.n_bytes = t.n_bytes;
    tally_hex(&t, e.sha256);
    e.unit = "descriptions";
    e.n = m->text[side].n;
    snprintf(name, sizeof name, "Translation-%s", langs[side]);
    return ledger_put(ledger, name, &e, err);
}

/* Both Translation files, from the user or from apt. */
static status read_all(struct material *m, const struct fetch_config *c, const char *dir,
                       struct ledger *ledger, struct progress *progress, struct err *err)
{
    const char *const given[N_ALIGN_SIDES] = {c->english, c->german};
    char path[FILE_PATH_MAX];

    if (!c->english[0]) {
        snprintf(path, sizeof path, "apt-get update, with lists of its own in %.900s/apt",
                 dir);
        progress_note(progress, path);
        TRY(apt_update(dir, err));
    }
    for (int s = 0; s < N_ALIGN_SIDES; s++) {
        if (given[s][0]) {
            TRY(read_side(m, s, given[s], ledger, given[s], err));
            continue;
        }
        TRY(apt_translations(dir, langs[s], path, sizeof path, err));
        TRY(read_side(m, s, path, ledger, "apt", err));
        TRY(file_remove(path, err)); /* a copy of what is in apt's lists */
    }
    return OK;
}

static status on_pair(void *to, const char *const text[N_ALIGN_SIDES], struct err *err)
{
    struct material *m = to;

    return debian_pairs_add(&m->pairs, m->set, text, err);
}

static status align_all(struct material *m, struct err *err)
{
    const struct debian_text *de = &m->text[ALIGN_DE];

    for (size_t i = 0; i < de->n; i++) {
        const struct debian_text_item *german = &de->item[i];
        const struct debian_text_item *english =
            debian_text_find(&m->text[ALIGN_EN], german->md5);
        if (!english)
            continue;
        m->n_common++;
        m->set = debian_pairs_set_of(english->package, english->n_package);
        const char *const text[N_ALIGN_SIDES] = {english->text, german->text};
        const size_t n[N_ALIGN_SIDES] = {english->n_text, german->n_text};
        TRY(debian_align(text, n, &m->align, on_pair, m, err));
    }
    TRY(debian_pairs_part(&m->pairs, m->n_left, err));
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        if (m->n_left[set] == 0)
            return err_set(err, ERR_FORMAT,
                           "the two languages have %" PRIu64 " descriptions in common, "
                           "which leave no pair for the %s set; more sources are needed",
                           m->n_common, fetch_set_name(set));
    return OK;
}

/* The six files. */
struct outputs {
    struct file_writer to[N_FETCH_SETS][N_FETCH_SIDES];
    struct tally tally[N_FETCH_SETS][N_FETCH_SIDES];
};

static status output_path(char path[FILE_PATH_MAX], const char *dir, enum fetch_set set,
                          enum fetch_side side, struct err *err)
{
    char name[32];

    snprintf(name, sizeof name, "%s.%s", fetch_set_name(set), fetch_side_name(side));
    return file_join(path, FILE_PATH_MAX, dir, name, err);
}

static status open_outputs(struct outputs *o, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++) {
            TRY(output_path(path, dir, set, side, err));
            TRY(file_writer_open(&o->to[set][side], path, err));
            tally_init(&o->tally[set][side]);
        }
    return OK;
}

static status fill_outputs(struct outputs *o, const struct debian_pairs *p,
                           struct err *err)
{
    for (size_t i = 0; i < p->n; i++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++) {
            const enum fetch_set set = p->pair[i].set;
            const char *text = p->text.data + p->pair[i].at[side];
            tally_add(&o->tally[set][side], text, strlen(text));
            tally_add(&o->tally[set][side], "\n", 1);
            TRY(file_writer_add(&o->to[set][side], text, strlen(text), err));
            TRY(file_writer_add(&o->to[set][side], "\n", 1, err));
        }
    return OK;
}

static status commit_outputs(struct outputs *o, const struct material *m,
                             struct ledger *ledger, struct err *err)
{
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++) {
            struct ledger_entry e = {.from = "Translation-en, Translation-de",
                                     .n_bytes = o->tally[set][side].n_bytes,
                                     .unit = "lines",
                                     .n = m->n_left[set]};
            char name[32];
            tally_hex(&o->tally[set][side], e.sha256);
            snprintf(name, sizeof name, "%s.%s", fetch_set_name(set),
                     fetch_side_name(side));
            TRY(file_writer_commit(&o->to[set][side], err));
            TRY(ledger_put(ledger, name, &e, err));
        }
    return OK;
}

static status write_all(const struct material *m, const char *dir, struct ledger *ledger,
                        struct err *err)
{
    struct outputs o = {0};
    status result = open_outputs(&o, dir, err);

    if (result == OK)
        result = fill_outputs(&o, &m->pairs, err);
    if (result == OK)
        result = commit_outputs(&o, m, ledger, err);
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++)
            file_writer_abort(&o.to[set][side]);
    return result;
}

/* A directory without our record may hold somebody's text under the same names. */
static status check_free(const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, dir, "fetch.json", err));
    if (file_exists(path))
        return OK;
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++) {
            TRY(output_path(path, dir, set, side, err));
            if (file_exists(path))
                return err_set(err, ERR_USAGE,
                               "%s is there already and is not ours; give another "
                               "directory",
                               path);
        }
    return OK;
}

static void summarize(struct fetch_result *r, const struct material *m, const char *dir)
{
    const struct debian_align_stats *a = &m->align;
    const struct debian_pairs *p = &m->pairs;
    const struct {
        uint64_t n;
        const char *what;
    } row[] = {
        {m->text[ALIGN_EN].n, "descriptions in English"},
        {m->text[ALIGN_DE].n, "descriptions in German"},
        {m->n_common, "in both"},
        {a->n_unequal, "of them with unequal paragraphs: the title only"},
        {a->n_unlike, "paragraphs that are built differently, left out"},
        {a->n_titles, "titles"},
        {a->n_sentences, "sentences"},
        {a->n_paragraphs, "whole paragraphs"},
        {a->n_items, "list items"},
        {p->n_again, "dropped: there before"},
        {p->n_equal, "dropped: both sides equal"},
        {p->n_empty, "dropped: no words, or not translated"},
        {p->n_shared, "dropped from valid and test: a side is in a larger set"},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        str_printf(&r->summary, "%12" PRIu64 "  %s\n", row[i].n, row[i].what);
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++) {
        str_printf(&r->summary, "%12" PRIu64 "  pairs in %s/%s.{en,de}\n", m->n_left[set],
                   dir, fetch_set_name(set));
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++)
            str_printf(&r->files[set][side], "%s/%s.%s", dir, fetch_set_name(set),
                       fetch_side_name(side));
    }
}

static status make(struct material *m, const struct fetch_config *c, const char *dir,
                   struct ledger *ledger, struct progress *progress, struct err *err)
{
    TRY(read_all(m, c, dir, ledger, progress, err));
    TRY(align_all(m, err));
    return write_all(m, dir, ledger, err);
}

status debian_fetch(const struct fetch_config *c, const char *dir,
                    struct progress *progress, struct fetch_result *r, struct err *err)
{
    struct material m = {0};
    struct ledger ledger;

    TRY(check_free(dir, err));
    TRY(ledger_open(&ledger, dir, "debian-de-en", err));
    debian_pairs_init(&m.pairs);
    const status result = make(&m, c, dir, &ledger, progress, err);
    if (result == OK)
        summarize(r, &m, dir);
    material_release(&m);
    ledger_close(&ledger);
    TRY(result);
    return str_check(&r->summary, "the summary", err);
}
