#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "prepare/draw.h"
#include "prepare/duplicates.h"
#include "prepare/overlap.h"
#include "prepare/prepare_stages.h"
#include "prepare/sides.h"

/* Lines that are enough to know a language by. */
enum { LANGUAGE_LINES = 20000 };

enum { HELD_OUT_KEEP, HELD_OUT_PAIR, HELD_OUT_SIDE };

/* What a thread found about one pair. */
struct verdict {
    int reason;
    size_t at[PAIRS_SIDES], n_bytes[PAIRS_SIDES]; /* cleaned, in the thread's text */
    struct duplicates_key key;
    unsigned overlap[N_PREPARE_SETS];
};

/* What each thread has for itself. */
struct judge {
    struct filter filter;
    struct str text, core[PAIRS_SIDES];
};

struct cleaning {
    struct prepare *p;
    struct verdict *verdict; /* [PREPARE_BATCH_PAIRS] */
    struct judge *judge;     /* [n_judges], one per thread */
    size_t n_judges;
    struct filter_options options;
    struct filter_profile profile;
    struct overlap overlap[N_PREPARE_SETS]; /* of the held-out ones */
    int held_out;                           /* which training pairs of theirs to drop */
    enum duplicates_kind kind;
    struct duplicates duplicates;
    struct draw draw;
    uint64_t n_kept; /* pairs written so far */
    struct sides sides;
    uint64_t language_step; /* every so many training pairs are looked at */
    struct file_writer out[PAIRS_SIDES], places, weights;
};

static int choice(const char *value, const char *one, const char *two)
{
    return strcmp(value, one) == 0 ? 1 : strcmp(value, two) == 0 ? 2 : 0;
}

static struct filter_options options_of(const struct prepare_config *c)
{
    return (struct filter_options){
        .clean = {.min_words = (size_t)c->min_words,
                  .max_words = (size_t)c->max_words,
                  .max_ratio = c->ratio,
                  .max_word_chars = (size_t)c->max_word_chars},
        .invalid = (enum filter_invalid)choice(c->invalid, "replace", ""),
        .control = (enum filter_control)choice(c->control, "drop", "strip"),
        .nfc = c->nfc,
        .drop_identical = c->drop_identical,
        .min_chars = (size_t)c->min_chars,
        .max_chars = (size_t)c->max_chars,
        .script = {unicode_script_named(c->source_script),
                   unicode_script_named(c->target_script)},
    };
}

/* The first pair tells whether the text is factored, the first million which words are
 * usual on which side. */
static status look_ahead(struct cleaning *c, struct err *err)
{
    const uint64_t n = c->p->config->check_language ? FILTER_PROFILE_PAIRS : 1;
    struct pairs *in = &c->p->input[PREPARE_TRAIN];
    struct pairs_row row;
    bool has = true;

    if (c->p->config->check_language) {
        TRY(filter_profile_open(&c->profile, err));
        c->options.profile = &c->profile;
    }
    for (uint64_t i = 0; i < n && has; i++) {
        TRY(pairs_next(in, &row, &has, err));
        if (i == 0)
            c->p->stats->is_factored = has && clean_is_factored(row.side[0], row.side[1]);
        for (int s = 0; s < PAIRS_SIDES && has && c->options.profile; s++)
            filter_profile_add(&c->profile, row.side[s], s);
    }
    pairs_rewind(in);
    return OK;
}

/* Of the text of a pair; a mark before its source is none of it. */
static struct overlap_key key_of(const struct cleaning *c,
                                 const struct line side[PAIRS_SIDES])
{
    const struct prepare *p = c->p;
    const struct line source = side[PAIRS_SOURCE];
    struct line text = marks_without(&p->marks, source);
    size_t n = 0;

    if (p->spm && spm_mark(p->spm, source, &n) >= 0)
        text = (struct line){source.text + n, source.n_bytes - n};
    while (text.n_bytes && text.n_bytes < source.n_bytes && text.text[0] == ' ')
        text = (struct line){text.text + 1, text.n_bytes - 1};
    return overlap_key_of((const struct line[]){
        [PAIRS_SOURCE] = text, [PAIRS_TARGET] = side[PAIRS_TARGET]});
}

/* The lines of a held-out set, in the form that training text gets. */
static status read_held_out(struct cleaning *c, enum prepare_set set, struct err *err)
{
    struct pairs *in = &c->p->input[set];
    struct line side[PAIRS_SIDES];
    struct pairs_row row;
    bool has = true;

    while (has) {
        TRY(pairs_next(in, &row, &has, err));
        if (!has)
            break;
        for (int s = 0; s < PAIRS_SIDES; s++)
            TRY(filter_line(&c->judge[0].filter, s, row.side[s], &side[s], err));
        sides_add(c->sides.language[set], side);
        const struct overlap_key key = key_of(c, side);
        TRY(overlap_add(&c->overlap[set], key, err));
        for (int part = 0; part < N_OVERLAP && set == PREPARE_TEST; part++)
            c->p->stats->overlap_held_out[part] +=
                overlap_find(&c->overlap[PREPARE_VALID], key) >> part & 1;
    }
    pairs_rewind(in);
    return OK;
}

static status open_threads(struct cleaning *c, struct err *err)
{
    c->n_judges = pool_size(c->p->pool);
    TRY(mem_alloc(&c->verdict, PREPARE_BATCH_PAIRS, sizeof *c->verdict, err));
    TRY(mem_alloc(&c->judge, c->n_judges, sizeof *c->judge, err));
    for (size_t i = 0; i < c->n_judges; i++)
        filter_init(&c->judge[i].filter, c->options, c->p->stats->is_factored);
    return OK;
}

/* The first lines of a training file, in the form that training text gets. */
static status read_beginning(struct cleaning *c, struct pairs_file *file,
                             uint64_t n_lines, struct err *err)
{
    RELEASED_BY(pairs_rewind)
    struct pairs one = {
        .file = file, .n_files = 1, .reading = c->p->input[PREPARE_TRAIN].reading};
    struct line side[PAIRS_SIDES];
    struct pairs_row row;
    bool has;

    for (uint64_t i = 0; i < n_lines; i++) {
        TRY(pairs_next(&one, &row, &has, err));
        if (!has)
            break;
        for (int s = 0; s < PAIRS_SIDES; s++)
            TRY(filter_line(&c->judge[0].filter, s, row.side[s], &side[s], err));
        sides_add(c->sides.beginning, side);
    }
    return OK;
}

/* Refuse swapped sides before the long work, as far as the beginning of every file tells;
 * all of the text is compared in the end. */
static status check_beginning(struct cleaning *c, struct err *err)
{
    const struct pairs *in = c->p->input;
    const size_t n = in[PREPARE_TRAIN].n_files;

    if (!c->p->config->check_sides ||
        (!in[PREPARE_VALID].n_files && !in[PREPARE_TEST].n_files))
        return OK;
    for (size_t i = 0; i < n; i++)
        TRY(read_beginning(c, &in[PREPARE_TRAIN].file[i], 1 + LANGUAGE_LINES / n, err));
    return sides_check(&c->sides, c->sides.beginning, in, err);
}

static status open_outputs(struct cleaning *c, struct err *err)
{
    struct prepare *p = c->p;

    TRY(workdir_create(&p->work, &c->places, err, "clean.places"));
    TRY(workdir_create(&p->work, &c->out[PAIRS_SOURCE], err, "clean.source"));
    TRY(workdir_create(&p->work, &c->out[PAIRS_TARGET], err, "clean.target"));
    if (pairs_have_weights(&p->input[PREPARE_TRAIN]))
        TRY(workdir_create(&p->work, &c->weights, err, "clean.weights"));
    if (c->kind == DUPLICATES_NONE)
        return OK;
    return duplicates_open(&c->duplicates, p->work.dir, p->input[PREPARE_TRAIN].n_lines,
                           prepare_budget(p), err);
}

static status open_cleaning(struct cleaning *c, struct err *err)
{
    const struct prepare_config *config = c->p->config;

    c->kind = (enum duplicates_kind)choice(config->duplicates, "exact", "near");
    c->held_out = choice(config->held_out, "pair", "side");
    TRY(sides_open(&c->sides, err));
    c->language_step = 1 + c->p->input[PREPARE_TRAIN].n_lines / LANGUAGE_LINES;
    TRY(draw_open(&c->draw, config, err));
    TRY(look_ahead(c, err));
    TRY(open_threads(c, err));
    TRY(read_held_out(c, PREPARE_VALID, err));
    TRY(read_held_out(c, PREPARE_TEST, err));
    TRY(check_beginning(c, err));
    return open_outputs(c, err);
}

static void close_cleaning(struct cleaning *c)
{
    for (size_t i = 0; c->judge && i < c->n_judges; i++) {
        filter_release(&c->judge[i].filter);
        str_release(&c->judge[i].text);
        str_release(&c->judge[i].core[0]);
        str_release(&c->judge[i].core[1]);
    }
    free(c->judge);
    free(c->verdict);
    filter_profile_close(&c->profile);
    overlap_release(&c->overlap[PREPARE_VALID]);
    overlap_release(&c->overlap[PREPARE_TEST]);
    duplicates_abort(&c->duplicates);
    draw_release(&c->draw);
    sides_close(&c->sides);
    file_writer_abort(&c->out[PAIRS_SOURCE]);
    file_writer_abort(&c->out[PAIRS_TARGET]);
    file_writer_abort(&c->places);
    file_writer_abort(&c->weights);
}

/* A kept pair: its hashes, and whether a held-out set has it. */
static void compare(const struct cleaning *c, struct judge *j, struct verdict *v,
                    const struct line side[PAIRS_SIDES])
{
    struct line core[PAIRS_SIDES] = {side[0], side[1]};
    const struct overlap_key key = key_of(c, side);
    unsigned found = 0;

    for (int s = 0; s < PAIRS_SIDES && c->kind == DUPLICATES_NEAR; s++) {
        str_reset(&j->core[s]);
        filter_core(&j->core[s], side[s]);
        core[s] = (struct line){str_text(&j->core[s]), j->core[s].len};
    }
    v->key = duplicates_key_of(side, core);
    for (int set = PREPARE_VALID; set < N_PREPARE_SETS; set++) {
        v->overlap[set] = overlap_find(&c->overlap[set], key);
        found |= v->overlap[set];
    }
    if ((c->held_out == HELD_OUT_PAIR && (found & 1u << OVERLAP_PAIR)) ||
        (c->held_out == HELD_OUT_SIDE && found))
        v->reason = FILTER_HELD_OUT;
}

static status judge_pair(const struct cleaning *c, struct judge *j, struct verdict *v,
                         const struct pairs_row *row, struct err *err)
{
    struct line side[PAIRS_SIDES];

    *v = (struct verdict){0};
    if (row->weight == 0) {
        v->reason = FILTER_WEIGHT;
        return OK;
    }
    TRY(filter_pair(&j->filter, row->side, row->is_cut, &v->reason, err));
    if (v->reason != CLEAN_KEEP)
        return OK;
    for (int s = 0; s < PAIRS_SIDES; s++) {
        const struct str *clean = &j->filter.clean.side[s];
        side[s] = (struct line){str_text(clean), clean->len};
        v->at[s] = j->text.len;
        v->n_bytes[s] = clean->len;
        str_add(&j->text, clean->data, clean->len);
    }
    compare(c, j, v, side);
    return str_check(&j->text, "cleaned text", err);
}

static status judge_range(void *ctx, const struct prepare_batch *b, size_t part,
                          struct pool_range range, struct err *err)
{
    const struct cleaning *c = ctx;

    str_reset(&c->judge[part].text);
    for (size_t i = range.begin; i < range.end; i++) {
        const struct pairs_row row = prepare_batch_row(b, i);
        TRY(judge_pair(c, &c->judge[part], &c->verdict[i], &row, err));
    }
    return OK;
}

/* Which lines of the held-out sets are in a pair that stays, or goes because of them. */
static void mark_overlap(struct cleaning *c, struct overlap_key key, bool is_left)
{
    for (int set = PREPARE_VALID; set < N_PREPARE_SETS; set++)
        overlap_mark(&c->overlap[set], key, is_left ? OVERLAP_LEFT : OVERLAP_REMOVED);
}

/* What a thread found about pair `i`, in the order of the pairs. What it shares with a
 * held-out set is marked later when it may still be left out. */
static status put_pair(void *ctx, const struct prepare_batch *b, size_t part, size_t i,
                       struct err *err)
{
    struct cleaning *c = ctx;
    const struct pairs_row row = prepare_batch_row(b, i);
    const struct verdict *v = &c->verdict[i];
    struct prepare_stage_stats *stats = &c->p->stats->stage[PREPARE_CLEAN];
    struct line side[PAIRS_SIDES];

    for (int s = 0; s < PAIRS_SIDES; s++) {
        stats->before.n_bytes[s] += row.side[s].n_bytes + 1;
        side[s] = (struct line){str_text(&c->judge[part].text) + v->at[s], v->n_bytes[s]};
    }
    prepare_stats_count(c->p->stats, v->reason, &row);
    if (v->reason != CLEAN_KEEP && v->reason != FILTER_HELD_OUT)
        return OK;
    const bool is_known = v->overlap[PREPARE_VALID] || v->overlap[PREPARE_TEST];
    if (is_known && (v->reason != CLEAN_KEEP || !prepare_leaves_out(c->p->config)))
        mark_overlap(c, key_of(c, side), v->reason == CLEAN_KEEP);
    if (v->reason != CLEAN_KEEP)
        return OK;
    if (draw_is_wanted(&c->draw) && !is_known)
        draw_offer(&c->draw, c->n_kept, key_of(c, side));
    if (c->n_kept % c->language_step == 0)
        sides_add_training(&c->sides, side);
    c->n_kept++;
    for (int s = 0; s < PAIRS_SIDES; s++) {
        stats->after.n_bytes[s] += side[s].n_bytes + 1;
        TRY(file_writer_add_line(&c->out[s], side[s].text, side[s].n_bytes, err));
    }
    const struct prepare_place place = {row.file, {row.line[0], row.line[1]}};
    TRY(file_writer_add(&c->places, &place, sizeof place, err));
    if (pairs_have_weights(&c->p->input[PREPARE_TRAIN]))
        TRY(file_writer_add(&c->weights, &row.weight, sizeof row.weight, err));
    c->p->stats->has_weights |= row.weight != 1;
    return c->kind == DUPLICATES_NONE ? OK : duplicates_add(&c->duplicates, v->key, err);
}

static status clean_all(struct cleaning *c, struct err *err)
{
    struct pairs *in = &c->p->input[PREPARE_TRAIN];
    const struct prepare_job job = {
        .label = "cleaning", .pairs = in, .work = judge_range, .put = put_pair, .ctx = c};

    TRY(prepare_batch_run(c->p, &job, err));
    if (in->n_read != in->n_lines)
        return err_set(err, ERR_IO,
                       "%" PRIu64 " pairs were counted and %" PRIu64
                       " read: the text changed meanwhile",
                       in->n_lines, in->n_read);
    return OK;
}

/* Text that was written before it was known to be a duplicate or drawn: it no longer
 * counts, and the first ones of each kind are samples. */
struct taking_back {
    struct cleaning *c;
    struct duplicates_found found;
};

static void forget_found(struct taking_back *t)
{
    free(t->found.bit);
}

static status sample_duplicate(const struct taking_back *t, uint64_t n,
                               struct pairs_row *row, struct err *err)
{
    static const int reason[] = {CLEAN_KEEP, FILTER_DUPLICATE, FILTER_NEAR};
    const struct duplicates_found *f = &t->found;

    for (int k = DUPLICATES_EXACT; k <= DUPLICATES_NEAR; k++)
        for (uint64_t at = 0; at < f->n[k] && at < DUPLICATES_SHOWN; at++)
            if (f->first[k][at] == n) {
                TRY(prepare_batch_where(t->c->p, row, err));
                prepare_stats_sample(t->c->p->stats, reason[k], (size_t)at, row);
            }
    return OK;
}

static bool is_left_out(const struct taking_back *t, uint64_t n)
{
    return t->found.bit[n / 8] >> n % 8 & 1;
}

static status offer_again(void *ctx, const struct prepare_batch *b, size_t part, size_t i,
                          struct err *err)
{
    const struct taking_back *t = ctx;
    struct cleaning *c = t->c;
    const struct pairs_row row = prepare_batch_row(b, i);
    const uint64_t n = row.line[PAIRS_SOURCE] - 1;
    const struct overlap_key key = key_of(c, row.side);

    (void)part;
    (void)err;
    if (!is_left_out(t, n) && !overlap_find(&c->overlap[PREPARE_VALID], key) &&
        !overlap_find(&c->overlap[PREPARE_TEST], key))
        draw_offer(&c->draw, n, key);
    return OK;
}

/* Now that duplicates are known. The candidates of cleaning are enough unless most of
 * them are duplicates or share a sentence. */
static status draw_sets(struct taking_back *t, struct err *err)
{
    struct cleaning *c = t->c;
    const struct prepare_job job = {
        .label = "drawing", .n_whole = c->n_kept, .put = offer_again, .ctx = t};
    bool is_done = !draw_is_wanted(&c->draw);

    while (!is_done) {
        TRY(draw_choose(&c->draw, c->overlap, t->found.bit,
                        c->p->stats->n_reason[CLEAN_KEEP], &is_done, err));
        if (!is_done)
            TRY(prepare_batch_run(c->p, &job, err));
    }
    return OK;
}

/* Whether a pair was drawn, or shares a sentence with one that was; what it shares with
 * any held-out set goes then, and is left otherwise. */
static status take_drawn(const struct taking_back *t, uint64_t n, struct pairs_row *row,
                         bool *is_out, struct err *err)
{
    struct cleaning *c = t->c;
    struct prepare_stats *stats = c->p->stats;
    const struct overlap_key key = key_of(c, row->side);
    const bool is_drawn = draw_take(&c->draw, n, row->side);
    const int reason = is_drawn ? FILTER_DRAWN : FILTER_HELD_OUT;

    *is_out = is_drawn;
    for (int set = PREPARE_VALID; set < N_PREPARE_SETS; set++)
        *is_out |= c->draw.wanted[set] && overlap_find(&c->overlap[set], key);
    if (!is_drawn)
        mark_overlap(c, key, !*is_out);
    if (!*is_out)
        return OK;
    t->found.bit[n / 8] |= (unsigned char)(1 << n % 8);
    prepare_stats_drop(stats, reason, 1);
    if (stats->n_reason[reason] > PREPARE_SAMPLES)
        return OK;
    TRY(prepare_batch_where(c->p, row, err));
    prepare_stats_sample(stats, reason, (size_t)stats->n_reason[reason] - 1, row);
    return OK;
}

static status take_back(void *ctx, const struct prepare_batch *b, size_t part, size_t i,
                        struct err *err)
{
    const struct taking_back *t = ctx;
    struct pairs_row row = prepare_batch_row(b, i);
    const uint64_t n = row.line[PAIRS_SOURCE] - 1;
    bool is_out = is_left_out(t, n);

    (void)part;
    if (is_out)
        TRY(sample_duplicate(t, n, &row, err));
    else if (prepare_has_set(t->c->p, PREPARE_VALID) ||
             prepare_has_set(t->c->p, PREPARE_TEST))
        TRY(take_drawn(t, n, &row, &is_out, err));
    for (int s = 0; s < PAIRS_SIDES && is_out; s++)
        t->c->p->stats->stage[PREPARE_CLEAN].after.n_bytes[s] -= row.side[s].n_bytes + 1;
    return OK;
}

/* The text of a drawn set, in its random order, for the encode stage. */
static status write_drawn(struct cleaning *c, enum prepare_set set, struct err *err)
{
    const char *name = prepare_stats_set_names[set];

    if (!c->draw.wanted[set])
        return OK;
    TRY(workdir_create(&c->p->work, &c->out[PAIRS_SOURCE], err, "%s.source", name));
    TRY(workdir_create(&c->p->work, &c->out[PAIRS_TARGET], err, "%s.target", name));
    for (size_t i = 0; i < c->draw.n_drawn; i++)
        for (int s = 0; s < PAIRS_SIDES && c->draw.drawn[i].set == set; s++) {
            const struct line line = draw_line(&c->draw, &c->draw.drawn[i], s);
            TRY(file_writer_add_line(&c->out[s], line.text, line.n_bytes, err));
        }
    TRY(file_writer_commit(&c->out[PAIRS_SOURCE], err));
    return file_writer_commit(&c->out[PAIRS_TARGET], err);
}

/* Leave duplicates, drawn pairs and those like them out of the training text. */
static status leave_out(struct cleaning *c, struct err *err)
{
    struct prepare *p = c->p;
    RELEASED_BY(forget_found) struct taking_back t = {.c = c};
    const struct prepare_job job = {
        .label = "leaving out", .n_whole = c->n_kept, .put = take_back, .ctx = &t};

    if (!prepare_leaves_out(p->config))
        return OK;
    if (c->kind != DUPLICATES_NONE)
        TRY(duplicates_find(&c->duplicates, &t.found, err));
    else {
        t.found.n_bytes = (size_t)(c->n_kept / 8 + 1);
        TRY(mem_alloc(&t.found.bit, t.found.n_bytes, 1, err));
    }
    prepare_stats_drop(p->stats, FILTER_DUPLICATE, t.found.n[DUPLICATES_EXACT]);
    prepare_stats_drop(p->stats, FILTER_NEAR, t.found.n[DUPLICATES_NEAR]);
    TRY(draw_sets(&t, err));
    TRY(prepare_batch_run(p, &job, err));
    TRY(draw_finish(&c->draw, err));
    TRY(write_drawn(c, PREPARE_VALID, err));
    TRY(write_drawn(c, PREPARE_TEST, err));
    return workdir_write(&p->work, "left_out", t.found.bit, t.found.n_bytes, err);
}

/* Refuse a corpus of which nothing is left; `when` ends "no pairs are left of 10 ...". */
static status check_left(const struct prepare_stats *s, const char *when, struct err *err)
{
    RELEASED_BY(str_release) struct str why = str_new(0);

    if (s->n_reason[CLEAN_KEEP])
        return OK;
    for (int v = 0; v < N_FILTER; v++)
        if (s->n_reason[v])
            str_printf(&why, "%s%" PRIu64 " because %s", why.len ? ", " : "",
                       s->n_reason[v], filter_why(v));
    return err_set(err, ERR_FORMAT, "no pairs are left of %" PRIu64 " %s: %s",
                   prepare_stats_read(s), when, str_text(&why));
}

/* What tells the languages of the corpus from others, beside the corpus. */
static status write_profiles(struct cleaning *c, struct err *err)
{
    RELEASED_BY(str_release) struct str bytes = str_new(0);

    TRY(sides_profiles(&c->sides, c->p->stats->language, &bytes, err));
    return bytes.len ? workdir_write(&c->p->work, "final/" PROFILE_FILE, bytes.data,
                                     bytes.len, err)
                     : OK;
}

static status finish(struct cleaning *c, struct err *err)
{
    struct prepare_stats *stats = c->p->stats;

    TRY(check_left(stats, "after cleaning", err));
    if (c->p->config->check_sides)
        TRY(sides_check(&c->sides, c->sides.language[PREPARE_TRAIN], c->p->input, err));
    sides_name(&c->sides, c->p->config, stats->language);
    TRY(write_profiles(c, err));
    TRY(file_writer_commit(&c->out[PAIRS_SOURCE], err));
    TRY(file_writer_commit(&c->out[PAIRS_TARGET], err));
    TRY(file_writer_commit(&c->places, err));
    if (pairs_have_weights(&c->p->input[PREPARE_TRAIN]))
        TRY(file_writer_commit(&c->weights, err));
    TRY(leave_out(c, err));
    TRY(check_left(stats, "without those of the held-out sets", err));
    for (int set = PREPARE_VALID; set < N_PREPARE_SETS; set++) {
        overlap_count(&c->overlap[set], OVERLAP_LEFT, stats->overlap[set]);
        overlap_count(&c->overlap[set], OVERLAP_REMOVED, stats->overlap_removed[set]);
    }
    stats->stage[PREPARE_CLEAN].before.n_pairs = c->p->input[PREPARE_TRAIN].n_lines;
    stats->stage[PREPARE_CLEAN].after.n_pairs = stats->n_reason[CLEAN_KEEP];
    return OK;
}

status prepare_stage_clean(struct prepare *p, struct err *err)
{
    RELEASED_BY(close_cleaning)
    struct cleaning c = {.p = p, .options = options_of(p->config)};

    pairs_rewind(&p->input[PREPARE_TRAIN]);
    TRY(open_cleaning(&c, err));
    TRY(clean_all(&c, err));
    return finish(&c, err);
}
