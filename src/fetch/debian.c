#include "fetch/debian.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fetch/manifest.h"
#include "format/sha256.h"
#include "format/stream.h"

enum { HELD_OUT = 50 }; /* one package in so many is in valid, and one in test */

enum fetch_set debian_pairs_set_of(const char *package, size_t n)
{
    struct sha256 s;
    uint8_t hash[SHA256_BYTES];

    sha256_init(&s);
    sha256_add(&s, package, n);
    sha256_end(&s, hash);
    const uint32_t part = ((uint32_t)hash[0] << 8 | hash[1]) % HELD_OUT;
    return part == 0 ? FETCH_VALID : part == 1 ? FETCH_TEST : FETCH_TRAIN;
}

static uint64_t hash_of(const char *text, int salt)
{
    return table_mix(table_hash(text, strlen(text)) + (uint64_t)salt,
                     0x9E3779B97F4A7C15u);
}

void debian_pairs_release(struct debian_pairs *p)
{
    str_release(&p->text);
    free(p->pair);
    table_set_release(&p->seen);
    *p = (struct debian_pairs){0};
}

static bool has_letter(const char *s)
{
    while (*s && (unsigned char)*s < 0x80 && !isalpha((unsigned char)*s))
        s++;
    return *s;
}

status debian_pairs_add(struct debian_pairs *p, enum fetch_set set,
                        const char *const text[N_FETCH_SIDES], struct err *err)
{
    const char *en = text[FETCH_EN], *de = text[FETCH_DE];
    const uint64_t hash = table_mix(hash_of(en, FETCH_EN), hash_of(de, FETCH_DE));
    uint64_t *dropped = NULL;

    if (!has_letter(en) || !has_letter(de) ||
        strstr(de, "<trans>")) /* a mark of sentences left untranslated */
        dropped = &p->n_empty;
    else if (strcmp(en, de) == 0)
        dropped = &p->n_equal;
    else if (table_set_has(&p->seen, hash))
        dropped = &p->n_again;
    if (dropped) {
        ++*dropped;
        return OK;
    }
    TRY(table_set_add(&p->seen, hash, err));
    TRY(mem_grow(&p->pair, &p->cap, p->n + 1, sizeof *p->pair, err));
    struct debian_pair *pair = &p->pair[p->n++];
    pair->set = set;
    for (int s = 0; s < N_FETCH_SIDES; s++) {
        pair->at[s] = p->text.len;
        str_add(&p->text, text[s], strlen(text[s]) + 1);
    }
    return str_check(&p->text, "the text of all descriptions", err);
}

static bool shares_side(const struct table_set *s, const struct debian_pairs *p,
                        const struct debian_pair *pair)
{
    return table_set_has(s, hash_of(p->text.data + pair->at[FETCH_EN], FETCH_EN)) ||
           table_set_has(s, hash_of(p->text.data + pair->at[FETCH_DE], FETCH_DE));
}

/* Both sides of every pair of `set`. */
static status see_set(struct table_set *s, const struct debian_pairs *p,
                      enum fetch_set set, struct err *err)
{
    for (size_t i = 0; i < p->n; i++)
        for (int side = 0; p->pair[i].set == set && side < N_FETCH_SIDES; side++)
            TRY(table_set_add(s, hash_of(p->text.data + p->pair[i].at[side], side), err));
    return OK;
}

status debian_pairs_part(struct debian_pairs *p, uint64_t n_left[N_FETCH_SETS],
                         struct err *err)
{
    RELEASED_BY(table_set_release) struct table_set sides = {0};

    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++) {
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++) {
            const bool is_shared =
                p->pair[i].set == set && shares_side(&sides, p, &p->pair[i]);
            p->n_shared += is_shared;
            if (!is_shared)
                p->pair[n++] = p->pair[i];
        }
        p->n = n;
        TRY(see_set(&sides, p, set, err));
    }
    memset(n_left, 0, N_FETCH_SETS * sizeof *n_left);
    for (size_t i = 0; i < p->n; i++)
        n_left[p->pair[i].set]++;
    return OK;
}

/* All that is known of the two languages on the way to pairs. */
struct material {
    struct str bytes[N_FETCH_SIDES];
    struct debian_text text[N_FETCH_SIDES];
    struct debian_align_stats align;
    struct debian_pairs pairs;
    uint64_t n_common, n_left[N_FETCH_SETS];
    enum fetch_set set; /* of the description at hand */
};

static void material_release(struct material *m)
{
    for (int s = 0; s < N_FETCH_SIDES; s++) {
        debian_text_release(&m->text[s]);
        str_release(&m->bytes[s]);
    }
    debian_pairs_release(&m->pairs);
}

/* A whole Translation file, packed or not, behind what is there. */
static status read_file(struct str *out, const char *path, struct err *err)
{
    RELEASED_BY(stream_close) struct stream s = {0};
    unsigned char buf[1 << 16];

    TRY(stream_open(&s, path, path, err));
    for (size_t got = 1; got && !out->bad;) {
        TRY(stream_read(&s, buf, sizeof buf, &got, err));
        str_add(out, buf, got);
    }
    return str_check(out, path, err);
}

static status read_side(struct material *m, int side, const char *path,
                        struct manifest *manifest, const char *from, struct err *err)
{
    struct str *bytes = &m->bytes[side];
    struct digest d;
    char name[32];

    TRY(read_file(bytes, path, err));
    TRY(debian_text_add(&m->text[side], str_text(bytes), bytes->len,
                        fetch_side_names[side], err));
    if (m->text[side].n == 0)
        return err_set(err, ERR_FORMAT,
                       "%s: has no descriptions; a Translation-%s file of a Debian "
                       "archive is wanted",
                       path, fetch_side_names[side]);
    debian_text_sort(&m->text[side]);
    digest_start(&d);
    digest_add(&d, bytes->data, bytes->len);
    digest_end(&d);
    snprintf(name, sizeof name, "Translation-%s", fetch_side_names[side]);
    return manifest_put(manifest, name, from, &d, "descriptions", m->text[side].n, err);
}

/* Both Translation files, from the user or from apt. */
static status read_all(struct material *m, const struct fetch_config *c, const char *dir,
                       struct manifest *manifest, struct progress *progress,
                       struct err *err)
{
    const char *const given[N_FETCH_SIDES] = {c->english, c->german};
    char path[FILE_PATH_MAX];

    if (!c->english[0]) {
        snprintf(path, sizeof path, "apt-get update, with lists of its own in %.900s/apt",
                 dir);
        progress_note(progress, path);
        TRY(debian_apt_update(dir, err));
    }
    for (int s = 0; s < N_FETCH_SIDES; s++) {
        if (given[s][0]) {
            TRY(read_side(m, s, given[s], manifest, given[s], err));
            continue;
        }
        TRY(debian_apt_translations(dir, fetch_side_names[s], path, err));
        TRY(read_side(m, s, path, manifest, "apt", err));
        TRY(file_remove(path, err)); /* a copy of what is in apt's lists */
    }
    return OK;
}

static status on_pair(void *to, const char *const text[N_FETCH_SIDES], struct err *err)
{
    struct material *m = to;

    return debian_pairs_add(&m->pairs, m->set, text, err);
}

static status align_all(struct material *m, struct err *err)
{
    const struct debian_text *de = &m->text[FETCH_DE];

    for (size_t i = 0; i < de->n; i++) {
        const struct debian_text_item *german = &de->item[i];
        const struct debian_text_item *english =
            debian_text_find(&m->text[FETCH_EN], german->md5);
        if (!english)
            continue;
        m->n_common++;
        m->set = debian_pairs_set_of(english->package, english->n_package);
        const char *const text[N_FETCH_SIDES] = {english->text, german->text};
        const size_t n[N_FETCH_SIDES] = {english->n_text, german->n_text};
        TRY(debian_align(text, n, &m->align, on_pair, m, err));
    }
    TRY(debian_pairs_part(&m->pairs, m->n_left, err));
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        if (m->n_left[set] == 0)
            return err_set(err, ERR_FORMAT,
                           "the two languages have %" PRIu64 " descriptions in common, "
                           "which leave no pair for the %s set; more sources are needed",
                           m->n_common, fetch_set_names[set]);
    return OK;
}

/* The six files: "train.en" and so on. */
enum { N_OUTPUTS = N_FETCH_SETS * N_FETCH_SIDES };
struct outputs {
    char name[N_OUTPUTS][16], path[N_OUTPUTS][FILE_PATH_MAX];
    struct file_writer to[N_OUTPUTS];
    struct digest digest[N_OUTPUTS];
};

static status name_outputs(struct outputs *o, const char *dir, struct err *err)
{
    for (int i = 0; i < N_OUTPUTS; i++) {
        snprintf(o->name[i], sizeof o->name[i], "%s.%s",
                 fetch_set_names[i / N_FETCH_SIDES], fetch_side_names[i % N_FETCH_SIDES]);
        TRY(file_join(o->path[i], sizeof o->path[i], dir, o->name[i], err));
    }
    return OK;
}

static void abort_outputs(struct outputs *o)
{
    for (int i = 0; i < N_OUTPUTS; i++)
        file_writer_abort(&o->to[i]);
}

static status fill_outputs(struct outputs *o, const struct debian_pairs *p,
                           struct err *err)
{
    for (int i = 0; i < N_OUTPUTS; i++) {
        TRY(file_writer_open(&o->to[i], o->path[i], err));
        digest_start(&o->digest[i]);
    }
    for (size_t k = 0; k < p->n; k++)
        for (int side = 0; side < N_FETCH_SIDES; side++) {
            const int i = (int)p->pair[k].set * N_FETCH_SIDES + side;
            const char *text = p->text.data + p->pair[k].at[side];
            digest_add(&o->digest[i], text, strlen(text));
            digest_add(&o->digest[i], "\n", 1);
            TRY(file_writer_add_line(&o->to[i], text, strlen(text), err));
        }
    return OK;
}

static status commit_outputs(struct outputs *o, const struct material *m,
                             struct manifest *manifest, struct err *err)
{
    for (int i = 0; i < N_OUTPUTS; i++) {
        digest_end(&o->digest[i]);
        TRY(file_writer_commit(&o->to[i], err));
        TRY(manifest_put(manifest, o->name[i], "Translation-en, Translation-de",
                         &o->digest[i], "lines", m->n_left[i / N_FETCH_SIDES], err));
    }
    return OK;
}

/* A directory without our record may hold somebody's text under the same names. */
static status check_free(const struct outputs *o, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, dir, "fetch.json", err));
    if (file_exists(path))
        return OK;
    for (int i = 0; i < N_OUTPUTS; i++)
        if (file_exists(o->path[i]))
            return err_set(
                err, ERR_USAGE,
                "%s exists and was not made by ferry fetch; give another directory",
                o->path[i]);
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
        {m->text[FETCH_EN].n, "descriptions in English"},
        {m->text[FETCH_DE].n, "descriptions in German"},
        {m->n_common, "in both"},
        {a->n_unequal, "of them with unequal paragraphs: the title only"},
        {a->n_unlike, "paragraphs that are built differently, left out"},
        {a->n_titles, "titles"},
        {a->n_sentences, "sentences"},
        {a->n_paragraphs, "whole paragraphs"},
        {a->n_items, "list items"},
        {p->n_again, "dropped: repeat an earlier pair"},
        {p->n_equal, "dropped: both sides equal"},
        {p->n_empty, "dropped: no words, or not translated"},
        {p->n_shared, "dropped from valid and test: a side is in a larger set"},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        str_printf(&r->summary, "%12" PRIu64 "  %s\n", row[i].n, row[i].what);
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++) {
        str_printf(&r->summary, "%12" PRIu64 "  pairs in %s/%s.{en,de}\n", m->n_left[set],
                   dir, fetch_set_names[set]);
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++)
            str_printf(&r->files[set][side], "%s/%s.%s", dir, fetch_set_names[set],
                       fetch_side_names[side]);
    }
}

status debian_fetch(const struct fetch_config *c, const char *dir,
                    struct progress *progress, struct fetch_result *r, struct err *err)
{
    RELEASED_BY(material_release) struct material m = {0};
    RELEASED_BY(abort_outputs) struct outputs outputs = {0};
    RELEASED_BY(manifest_close) struct manifest manifest = {0};

    TRY(name_outputs(&outputs, dir, err));
    TRY(check_free(&outputs, dir, err));
    TRY(manifest_open(&manifest, dir, "debian-de-en", err));
    TRY(read_all(&m, c, dir, &manifest, progress, err));
    TRY(align_all(&m, err));
    TRY(fill_outputs(&outputs, &m.pairs, err));
    TRY(commit_outputs(&outputs, &m, &manifest, err));
    summarize(r, &m, dir);
    return str_check(&r->summary, "the summary", err);
}
