/* What an evaluation reports against the same numbers computed one sentence at a time. */
#include "base/utf8.h"
#include "corpus/batch.h"
#include "decode/model_dir.h"
#include "score/chrf.h"
#include "score/loops.h"
#include "toy_run.h"
#include "train/eval/evaluate.h"
#include "train/update/upload.h"

enum { MAX_LENGTH = 32, MAX_PAIRS = 16, EOS = 1, BOS = 2 };

/* A model that has learned a little, and the data it learned from. */
struct fixture {
    struct dataset data;
    struct model_dir dir;
    struct device device;
    struct model model;
};

static void fixture_open(struct fixture *f, const char *steps)
{
    const struct device_options options = {.threads = 1};
    struct err err = {0};

    *f = (struct fixture){0};
    toy_data();
    toy_train("run", TOY(steps));
    CHECK_OK(dataset_open(&f->data, test_path("data"), &err), &err);
    CHECK_OK(model_dir_open(&f->dir, test_path("run"), "last", &err), &err);
    CHECK_OK(device_open(&f->device, "cpu", options, &err), &err);
    CHECK_OK(model_open(&f->model, &f->device, &f->dir.config, false, &err), &err);
    CHECK_OK(model_dir_load_weights(&f->model, &f->dir, true, &err), &err);
}

static void fixture_close(struct fixture *f)
{
    model_close(&f->model);
    device_close(&f->device);
    model_dir_close(&f->dir);
    dataset_close(&f->data);
}

/* One sentence on its own. */
struct sentence_facts {
    double loss; /* sum over its tokens */
    size_t n;    /* target tokens, EOS included */
    int32_t best[MAX_LENGTH], label[MAX_LENGTH];
};

static void look_at(struct fixture *f, uint32_t pair, size_t max_length, double smooth,
                    struct sentence_facts *s)
{
    const struct model_run run = {.smooth = smooth, .want_best = true};
    struct batch batch = {0};
    struct err err = {0};
    float loss[MAX_LENGTH];

    CHECK_OK(batch_gather(&batch, &f->data.valid.corpus, &pair, 1, max_length, &err),
             &err);
    const struct model_batch b = upload_batch(&batch);
    const struct model_shape shape = {1, b.n_src, b.n_tgt, MAX_LENGTH, false};
    CHECK(b.n_tgt <= MAX_LENGTH);
    CHECK_OK(model_reserve(&f->model, shape, &err), &err);
    model_forward(&f->model, &b, &run);
    model_losses(&f->model, loss);
    model_best(&f->model, s->best);
    s->n = b.n_tgt;
    s->loss = 0;
    for (size_t i = 0; i < s->n; i++)
        s->loss += (double)loss[i];
    memcpy(s->label, batch.tgt_label, s->n * sizeof *s->label);
    batch_release(&batch);
}

static size_t look_at_all(struct fixture *f, struct sentence_facts *s, size_t max_length,
                          double smooth)
{
    const size_t n = f->data.valid.corpus.n_pairs;

    CHECK(n <= MAX_PAIRS);
    for (uint32_t i = 0; i < n; i++)
        look_at(f, i, max_length, smooth, &s[i]);
    return n;
}

static struct evaluate_result evaluate(struct fixture *f, struct evaluate_options o)
{
    struct evaluate_result r = {0};
    struct err err = {0};

    CHECK_OK(evaluate_loss(&r, &f->model, &f->data.valid, &o, &err), &err);
    return r;
}

static const struct evaluate_options usual = {
    .smooth = 0.1, .batch_tokens = 100, .max_length = MAX_LENGTH, .group = 5};

TEST(the_loss_is_a_mean_over_tokens)
{
    struct sentence_facts s[MAX_PAIRS];
    struct fixture f;
    double sum = 0, tokens = 0;

    fixture_open(&f, "max_steps=20");
    const size_t n = look_at_all(&f, s, MAX_LENGTH, 0.1);
    for (size_t i = 0; i < n; i++) {
        sum += s[i].loss;
        tokens += (double)s[i].n;
    }
    const struct evaluate_result r = evaluate(&f, usual);
    CHECK_NEAR(r.valid_loss, sum / tokens, 1e-6);
    CHECK(r.n_pairs == n && r.n_tokens == (size_t)tokens && !r.has_text);

    struct evaluate_options sharp = usual; /* smoothing is part of the loss */
    sharp.smooth = 0;
    CHECK(fabs(evaluate(&f, sharp).valid_loss - r.valid_loss) > 1e-3);
    fixture_close(&f);
}

/* The reference's: batches of `group` sentences, each batch's mean over its tokens, and
 * of these a mean weighted by sentences; the last batch is short. */
TEST(eval_loss_is_a_mean_over_sentences_of_batch_means)
{
    static const size_t groups[] = {1, 5, 12, 100};
    struct sentence_facts s[MAX_PAIRS];
    struct fixture f;
    double seen[4];

    fixture_open(&f, "max_steps=20");
    const size_t n = look_at_all(&f, s, MAX_LENGTH, 0.1);
    for (int g = 0; g < 4; g++) {
        double weighted = 0;
        for (size_t at = 0; at < n; at += groups[g]) {
            const size_t end = at + groups[g] < n ? at + groups[g] : n;
            double sum = 0, tokens = 0;
            for (size_t i = at; i < end; i++) {
                sum += s[i].loss;
                tokens += (double)s[i].n;
            }
            weighted += sum / tokens * (double)(end - at);
        }
        struct evaluate_options o = usual;
        o.group = groups[g];
        seen[g] = evaluate(&f, o).eval_loss;
        CHECK_NEAR(seen[g], weighted / (double)n, 1e-6);
    }
    CHECK(fabs(seen[0] - seen[1]) > 1e-5 && fabs(seen[1] - seen[2]) > 1e-5);
    CHECK(seen[2] == seen[3]); /* one batch */
    fixture_close(&f);
}

TEST(batches_do_not_change_what_is_measured)
{
    static const size_t sizes[] = {1, 17, 40, 100000};
    struct fixture f;

    fixture_open(&f, "max_steps=200");
    const struct evaluate_result want = evaluate(&f, usual);
    for (int i = 0; i < 4; i++) {
        struct evaluate_options o = usual;
        o.batch_tokens = sizes[i];
        const struct evaluate_result r = evaluate(&f, o);
        CHECK_NEAR(r.valid_loss, want.valid_loss, 1e-6);
        CHECK_NEAR(r.eval_loss, want.eval_loss, 1e-6);
        CHECK(r.forced_bleu == want.forced_bleu);
        CHECK(r.n_tokens == want.n_tokens && r.n_pairs == want.n_pairs);
    }
    fixture_close(&f);
}

TEST(longer_sentences_are_cut)
{
    struct sentence_facts s[MAX_PAIRS];
    struct fixture f;
    struct evaluate_options o = usual;
    double sum = 0, tokens = 0;

    fixture_open(&f, "max_steps=20");
    o.max_length = 8;
    const size_t n = look_at_all(&f, s, o.max_length, 0.1);
    for (size_t i = 0; i < n; i++) {
        CHECK(s[i].n <= 8);
        sum += s[i].loss;
        tokens += (double)s[i].n;
    }
    const struct evaluate_result r = evaluate(&f, o);
    CHECK(r.n_tokens == (size_t)tokens && r.n_tokens < evaluate(&f, usual).n_tokens);
    CHECK_NEAR(r.valid_loss, sum / tokens, 1e-6);
    fixture_close(&f);
}

/* ---- teacher-forced BLEU, by its definition ---- */

/* Up to the first EOS, without the start symbol. */
static size_t words(int32_t *out, const int32_t *id, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n && id[i] != EOS; i++)
        if (id[i] > BOS)
            out[k++] = id[i];
    return k;
}

static size_t count(const int32_t *gram, size_t order, const int32_t *in, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i + order <= n; i++)
        found += memcmp(in + i, gram, order * sizeof *gram) == 0;
    return found;
}

/* n-grams of hyp that ref has as well, none more often than there */
static size_t matches(const int32_t *hyp, size_t n_hyp, const int32_t *ref, size_t n_ref,
                      size_t order)
{
    size_t sum = 0;

    for (size_t i = 0; i + order <= n_hyp; i++) {
        const size_t before = count(hyp + i, order, hyp, i + order - 1);
        sum += before < count(hyp + i, order, ref, n_ref);
    }
    return sum;
}

TEST(forced_bleu_is_that_of_the_likeliest_tokens)
{
    struct sentence_facts s[MAX_PAIRS];
    struct fixture f;
    double match[4] = {0}, total[4] = {0}, n_hyp = 0, n_ref = 0, log_sum = 0;

    fixture_open(&f, "max_steps=400");
    const size_t n = look_at_all(&f, s, MAX_LENGTH, 0.1);
    for (size_t i = 0; i < n; i++) {
        int32_t hyp[MAX_LENGTH], ref[MAX_LENGTH];
        const size_t h = words(hyp, s[i].best, s[i].n),
                     r = words(ref, s[i].label, s[i].n);
        n_hyp += (double)h;
        n_ref += (double)r;
        for (size_t order = 1; order <= 4; order++) {
            match[order - 1] += (double)matches(hyp, h, ref, r, order);
            /* the reference's library counts one n-gram where there is none */
            total[order - 1] += h >= order ? (double)(h - order + 1) : 1;
        }
    }
    for (int k = 0; k < 4; k++) {
        CHECK(match[k] > 0); /* or the test would say nothing */
        log_sum += log(match[k] / total[k]) / 4;
    }
    const double brevity = n_hyp < n_ref ? exp(1 - n_ref / n_hyp) : 1;
    const struct evaluate_result r = evaluate(&f, usual);
    CHECK(fabs(r.forced_bleu - brevity * exp(log_sum)) < 0.5001e-4); /* 4 decimals */
    CHECK(r.forced_bleu > 0.01 && r.forced_bleu < 1);
    fixture_close(&f);
}

/* ---- BLEU of translations ---- */

TEST(bleu_is_of_the_translations_that_it_leaves)
{
    struct translate_config how;
    struct translator translator;
    struct translations out = {0};
    struct evaluate_result r = {0};
    struct evaluate_options o = usual;
    struct fixture f;
    struct err err = {0};

    fixture_open(&f, "max_steps=400");
    CHECK_OK(opt_defaults(translate_config_table, &how, &err), &err);
    how.beam = 2;
    CHECK_OK(translate_open(&translator, &f.model, f.dir.spm, &how, &err), &err);
    o.text_pairs = 5;
    CHECK_OK(evaluate_text(&r, &out, &translator, &f.data.valid, &o, &err), &err);
    CHECK(r.has_text && r.n_translated == 5 && out.n_lines == 5);
    CHECK(r.score[METRIC_BLEU] >= 0 && r.score[METRIC_BLEU] <= 100);
    CHECK(strncmp(r.signature[METRIC_BLEU],
                  "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:", 53) == 0);

    o.text_pairs = 0; /* all; and against themselves they are perfect */
    CHECK_OK(evaluate_text(&r, &out, &translator, &f.data.valid, &o, &err), &err);
    CHECK(r.n_translated == 12);
    struct line own[MAX_PAIRS];
    struct dataset_set set = f.data.valid;
    for (size_t i = 0; i < 12; i++)
        own[i] =
            (struct line){translate_get(&out, i, 0), strlen(translate_get(&out, i, 0))};
    struct translations again = {0};
    set.target.line = own;
    CHECK_OK(evaluate_text(&r, &again, &translator, &set, &o, &err), &err);
    CHECK_NEAR(r.score[METRIC_BLEU], 100, 1e-9);
    CHECK_NEAR(r.score[METRIC_CHRF], 100, 1e-9);
    CHECK_NEAR(r.score[METRIC_CHRF_WORDS], 100, 1e-9);
    CHECK(r.length_ratio == 1 && r.repeating == 0); /* references may repeat themselves */
    translate_release(&again);
    translate_release(&out);
    translate_close(&translator);
    fixture_close(&f);
}

/* By a model that has hardly learnt, which repeats itself. */
TEST(all_that_is_measured_of_translations_is_theirs)
{
    const struct chrf_options chars = CHRF_OPTIONS;
    struct chrf_options words = CHRF_OPTIONS;
    struct translate_config how;
    struct translator translator;
    struct translations out = {0};
    struct evaluate_result r = {0};
    size_t n_chars[2] = {0};
    struct chrf_stats chrf[2] = {0};
    size_t n_loops = 0;
    struct fixture f;
    struct err err = {0};

    words.word_order = 2;
    fixture_open(&f, "max_steps=40");
    CHECK_OK(opt_defaults(translate_config_table, &how, &err), &err);
    how.max_repeats = 0; /* the search would end most loops */
    CHECK_OK(translate_open(&translator, &f.model, f.dir.spm, &how, &err), &err);
    CHECK_OK(evaluate_text(&r, &out, &translator, &f.data.valid, &usual, &err), &err);
    for (size_t i = 0; i < out.n_lines; i++) {
        const char *text = translate_get(&out, i, 0);
        const struct line hyp = {text, strlen(text)}, *ref = &f.data.valid.target.line[i];
        bool loops, ref_loops;
        n_chars[0] += utf8_count(hyp.text, hyp.n_bytes);
        n_chars[1] += utf8_count(ref->text, ref->n_bytes);
        CHECK_OK(chrf_add(&chrf[0], &chars, hyp, ref, 1, &err), &err);
        CHECK_OK(chrf_add(&chrf[1], &words, hyp, ref, 1, &err), &err);
        CHECK_OK(loops_find(&loops, hyp, &err), &err);
        CHECK_OK(loops_find(&ref_loops, *ref, &err), &err);
        n_loops += loops && !ref_loops; /* the text may repeat itself */
    }
    CHECK(out.n_lines == 12 && n_loops > 0); /* or the test would say nothing */
    CHECK(r.repeating == (double)n_loops / 12);
    CHECK_NEAR(r.score[METRIC_CHRF], chrf_score(&chrf[0], &chars), 1e-12);
    CHECK_NEAR(r.score[METRIC_CHRF_WORDS], chrf_score(&chrf[1], &words), 1e-12);
    CHECK_NEAR(r.length_ratio, (double)n_chars[0] / (double)n_chars[1], 1e-12);
    CHECK(r.score[METRIC_CHRF] > 0 && r.score[METRIC_CHRF] != r.score[METRIC_CHRF_WORDS]);
    translate_release(&out);
    translate_close(&translator);
    fixture_close(&f);
}

TEST(an_empty_set_is_refused)
{
    const struct dataset_set none = {0};
    struct evaluate_result r = {0};
    struct fixture f;
    struct err err = {0};

    fixture_open(&f, "max_steps=0");
    CHECK_FAILS(evaluate_loss(&r, &f.model, &none, &usual, &err), &err, ERR_FORMAT,
                "no sentences");
    fixture_close(&f);
}
