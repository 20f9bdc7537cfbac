#include "adapt/blend.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/profile.h"

/* Sides of held-out pairs by the checksum of their tokens, in ascending order. */
struct seen {
    uint64_t *key;
    size_t n;
};

/* A corpus being written, and room for the ids of a side. */
struct out {
    struct corpus_file_writer file;
    int32_t *id[BLEND_TEXTS];
    size_t cap[BLEND_TEXTS];
};

struct work {
    const struct blend *b;
    const char *dir;
    struct seen seen[BLEND_TEXTS]; /* in the held-out sets of each text */
    uint32_t *kept[BLEND_TEXTS];   /* training pairs of each text that may be used */
    size_t n_kept[BLEND_TEXTS];
    struct out out;
};

/* The new text is always there. */
static int n_texts(const struct blend *b)
{
    return b->text[1] ? 2 : 1;
}

/* ---- what is held out ---- */

static uint64_t key_of(struct sentence s, int side)
{
    return checksum_of(s.token, s.len * sizeof *s.token) * 2 + (uint64_t)side;
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool is_seen(const struct seen *s, struct sentence sentence, int side)
{
    const uint64_t key = key_of(sentence, side);

    return s->n && bsearch(&key, s->key, s->n, sizeof key, compare_keys);
}

static void see(struct seen *s, const struct corpus *c)
{
    for (uint32_t i = 0; i < c->n_pairs; i++) {
        s->key[s->n++] = key_of(corpus_source(c, i), 0);
        s->key[s->n++] = key_of(corpus_target(c, i), 1);
    }
}

static status see_held_out(struct seen *s, const struct dataset *d, struct err *err)
{
    const size_t n = (size_t)d->valid.corpus.n_pairs + d->test.corpus.n_pairs;

    TRY(mem_alloc(&s->key, 2 * n + 1, sizeof *s->key, err));
    see(s, &d->valid.corpus);
    see(s, &d->test.corpus);
    qsort(s->key, s->n, sizeof *s->key, compare_keys);
    return OK;
}

/* Pairs of text t that share no side with what the other text holds out. */
static status keep(struct work *w, int t, struct err *err)
{
    const struct corpus *c = &w->b->text[t]->train;
    const struct seen *other = &w->seen[!t];

    TRY(mem_alloc(&w->kept[t], c->n_pairs, sizeof **w->kept, err));
    for (uint32_t i = 0; i < c->n_pairs; i++)
        if (!is_seen(other, corpus_source(c, i), 0) &&
            !is_seen(other, corpus_target(c, i), 1))
            w->kept[t][w->n_kept[t]++] = i;
    if (w->n_kept[t])
        return OK;
    return err_set(err, ERR_USAGE,
                   "every pair of the %s text shares a side with a held-out pair of the "
                   "other: are the two the same text?",
                   t ? "general" : "new");
}

/* ---- corpora ---- */

static status open_out(struct out *o, const struct work *w, const char *name,
                       struct err *err)
{
    const struct dataset *d = w->b->text[0];
    const uint32_t vocab = d->n_source > d->n_target ? d->n_source : d->n_target;
    char path[FILE_PATH_MAX];

    TRY(file_path(path, err, "%s/%s.bin", w->dir, name));
    for (int t = 0; t < 2 && w->b->text[t]; t++)
        if (corpus_has_weights(&w->b->text[t]->train))
            return corpus_file_create_weighted(&o->file, path, vocab, d->tokenizer_hash,
                                               err);
    return corpus_file_create(&o->file, path, vocab, d->tokenizer_hash, err);
}

static status widen(struct out *o, int side, struct sentence s, struct err *err)
{
    TRY(mem_grow(&o->id[side], &o->cap[side], s.len + 1, sizeof **o->id, err));
    for (size_t i = 0; i < s.len; i++)
        o->id[side][i] = s.token[i];
    return OK;
}

static status add(struct out *o, const struct corpus *c, uint32_t i, struct err *err)
{
    const struct sentence s = corpus_source(c, i), t = corpus_target(c, i);

    TRY(widen(o, 0, s, err));
    TRY(widen(o, 1, t, err));
    return corpus_file_add_weighted(&o->file, (struct corpus_file_side){o->id[0], s.len},
                                    (struct corpus_file_side){o->id[1], t.len},
                                    corpus_weight(c, i), err);
}

/* The order within the file is of no account: training shuffles it. */
static status write_passes(struct work *w, struct err *err)
{
    const struct blend *b = w->b;
    size_t next = 0;

    for (int64_t pass = 0; pass < b->how.passes; pass++) {
        for (size_t i = 0; i < w->n_kept[0]; i++)
            TRY(add(&w->out, &b->text[0]->train, w->kept[0][i], err));
        for (uint64_t i = 0; b->text[1] && i < b->how.n_drawn; i++) {
            TRY(add(&w->out, &b->text[1]->train, w->kept[1][next], err));
            next = next + 1 < w->n_kept[1] ? next + 1 : 0;
        }
    }
    return OK;
}

static status write_train(struct work *w, struct err *err)
{
    TRY(open_out(&w->out, w, "train", err));
    TRY(write_passes(w, err));
    return corpus_file_commit(&w->out.file, err);
}

/* ---- held-out sets ---- */

static const struct dataset_set *set_of(const struct dataset *d, bool is_test)
{
    return is_test ? &d->test : &d->valid;
}

/* Calls fn for the pairs of both sets in turn, and for the rest of the longer one. */
static status alternate(struct work *w, bool is_test,
                        status (*fn)(struct work *, const struct dataset_set *, uint32_t,
                                     void *, struct err *),
                        void *ctx, struct err *err)
{
    uint32_t n[BLEND_TEXTS] = {0};

    for (int t = 0; t < BLEND_TEXTS; t++)
        n[t] = w->b->text[t] ? set_of(w->b->text[t], is_test)->corpus.n_pairs : 0;
    for (uint32_t i = 0; i < n[0] || i < n[1]; i++)
        for (int t = 0; t < BLEND_TEXTS; t++)
            if (i < n[t])
                TRY(fn(w, set_of(w->b->text[t], is_test), i, ctx, err));
    return OK;
}

static status add_pair(struct work *w, const struct dataset_set *set, uint32_t i,
                       void *ctx, struct err *err)
{
    (void)ctx;
    return add(&w->out, &set->corpus, i, err);
}

/* A side's text, while it is written. */
struct text {
    struct file_writer file;
    bool is_target;
};

static status add_line(struct work *w, const struct dataset_set *set, uint32_t i,
                       void *ctx, struct err *err)
{
    struct text *t = ctx;
    const struct line line = t->is_target ? set->target.line[i] : set->source.line[i];

    (void)w;
    return file_writer_add_line(&t->file, line.text, line.n_bytes, err);
}

static status write_text(struct work *w, bool is_test, bool is_target, struct err *err)
{
    struct text t = {.is_target = is_target};
    char path[FILE_PATH_MAX];

    TRY(file_path(path, err, "%s/%s.%s", w->dir, is_test ? "test" : "valid",
                  is_target ? "target" : "source"));
    TRY(file_writer_open(&t.file, path, err));
    status result = alternate(w, is_test, add_line, &t, err);
    THEN(result, file_writer_commit(&t.file, err));
    file_writer_abort(&t.file);
    return result;
}

static status write_set(struct work *w, bool is_test, struct err *err)
{
    TRY(open_out(&w->out, w, is_test ? "test" : "valid", err));
    TRY(alternate(w, is_test, add_pair, NULL, err));
    TRY(corpus_file_commit(&w->out.file, err));
    TRY(write_text(w, is_test, false, err));
    return write_text(w, is_test, true, err);
}

/* ---- what else a data directory has ---- */

/* A file of the new text's directory, if it has it. */
static status copy(const struct work *w, const char *name, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    char from[FILE_PATH_MAX], to[FILE_PATH_MAX];

    TRY(file_join(from, sizeof from, w->b->first, name, err));
    TRY(file_join(to, sizeof to, w->dir, name, err));
    if (!file_exists(from))
        return OK;
    TRY(file_map_open(&map, from, err));
    return file_write(to, map.data, map.n_bytes, err);
}

static json_t *language(const char *name)
{
    return json_pack("{s:s}", "name", name);
}

static json_t *hash(uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static json_t *side_json(const struct corpus *c, int side)
{
    uint64_t n_tokens = 0, longest = 0;

    for (uint32_t i = 0; i < c->n_pairs; i++) {
        const size_t n = (side ? corpus_target(c, i) : corpus_source(c, i)).len;
        n_tokens += n;
        longest = n > longest ? n : longest;
    }
    return json_pack("{s:I, s:I}", "tokens", (json_int_t)n_tokens, "longest",
                     (json_int_t)longest);
}

/* Of a corpus that was written. */
static status set_json(json_t *sets, const struct work *w, const char *name,
                       struct err *err)
{
    RELEASED_BY(corpus_close) struct corpus c = {0};
    char path[FILE_PATH_MAX];

    TRY(file_path(path, err, "%s/%s.bin", w->dir, name));
    TRY(corpus_open(&c, path, err));
    json_object_set_new(sets, name,
                        json_pack("{s:I, s:o, s:o, s:I, s:o}", "pairs",
                                  (json_int_t)c.n_pairs, "source", side_json(&c, 0),
                                  "target", side_json(&c, 1), "bytes",
                                  (json_int_t)c.n_bytes, "checksum", hash(c.checksum)));
    return OK;
}

static json_t *blend_json(const struct work *w)
{
    const struct blend *b = w->b;
    json_t *list = json_array();

    for (int t = 0; t < n_texts(b); t++)
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I}", "text", t ? "general" : "new",
                            "pairs", (json_int_t)w->n_kept[t], "held_out_by_the_other",
                            (json_int_t)(b->text[t]->train.n_pairs - w->n_kept[t]),
                            "a_pass", (json_int_t)(t ? b->how.n_drawn : w->n_kept[0])));
    return list;
}

static json_t *vocabulary_json(const struct dataset *d)
{
    json_t *all = json_pack("{s:I, s:o, s:b}", "pieces", (json_int_t)d->n_source, "hash",
                            hash(d->tokenizer_hash), "learned", 0);

    if (*d->target_tokenizer)
        json_object_set_new(all, "target_pieces", json_integer(d->n_target));
    return all;
}

/* docs/formats/corpus.md lists the fields. */
static json_t *mark(const struct work *w, json_t *sets)
{
    const struct blend *b = w->b;
    const struct dataset *d = b->text[0];

    return json_pack("{s:s, s:i, s:{s:o, s:o}, s:o, s:O, s:I, s:o}", "ferry",
                     FERRY_VERSION, "version", DATASET_VERSION, "languages", "source",
                     language(d->source_lang), "target", language(d->target_lang),
                     "vocabulary", vocabulary_json(d), "sets", sets, "passes",
                     (json_int_t)b->how.passes, "blend", blend_json(w));
}

static status write_mark(const struct work *w, struct err *err)
{
    json_auto_t *sets = json_object();
    RELEASED_BY(str_release) struct str page = str_new(0);
    char path[FILE_PATH_MAX];

    TRY(set_json(sets, w, "train", err));
    TRY(set_json(sets, w, "valid", err));
    TRY(set_json(sets, w, "test", err));
    json_auto_t *all = mark(w, sets);
    RELEASED_BY(mem_release) char *dump = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    TRY(file_join(path, sizeof path, w->dir, DATASET_MARK, err));
    if (!dump)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    str_puts(&page, dump);
    str_putc(&page, '\n');
    return file_write_str(path, &page, err);
}

static status write_all(struct work *w, struct err *err)
{
    static const char *const names[] = {DATASET_VOCAB ".model", DATASET_VOCAB ".vocab",
                                        DATASET_TARGET ".model", DATASET_TARGET ".vocab",
                                        PROFILE_FILE};

    for (int t = 0; t < n_texts(w->b); t++)
        TRY(see_held_out(&w->seen[t], w->b->text[t], err));
    for (int t = 0; t < n_texts(w->b); t++)
        TRY(keep(w, t, err));
    TRY(file_make_dirs(w->dir, err));
    TRY(write_train(w, err));
    TRY(write_set(w, false, err));
    TRY(write_set(w, true, err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TRY(copy(w, names[i], err));
    return write_mark(w, err);
}

status blend_write(const struct blend *b, const char *to, struct err *err)
{
    struct work w = {.b = b, .dir = to};
    const status result = write_all(&w, err);

    corpus_file_abort(&w.out.file);
    for (int t = 0; t < BLEND_TEXTS; t++) {
        free(w.seen[t].key);
        free(w.kept[t]);
        free(w.out.id[t]);
    }
    return result;
}

struct tuning_size blend_measure(const struct corpus *train)
{
    struct tuning_size size = {.n_pairs = train->n_pairs};

    for (uint32_t i = 0; i < train->n_pairs; i++) {
        const size_t n[] = {corpus_source(train, i).len, corpus_target(train, i).len};
        size.n_target += n[1] + 2;
        for (int side = 0; side < 2; side++)
            size.longest = n[side] > size.longest ? n[side] : size.longest;
    }
    return size;
}
