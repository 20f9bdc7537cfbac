#include "test.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "format/tf/tensor_index.h"
#include "markup.h"
#include "report/judge/answers.h"
#include "report/judge/run.h"
#include "report/show/report.h"

static struct err err;

#define CONFIG                                                                        \
    "{\"max_steps\":2000,\"lr_policy\":\"transformer_policy\",\"learning_rate\":2.0," \
    "\"warmup_steps\":400,\"d_model\":64,\"residual_dropout\":0.1,\"data\":\"%s\"}"

/* A run being written: t is its clock, in seconds since 1970. */
struct writer {
    struct str log;
    double t;
    struct rng noise;
    const char *device; /* NULL: cpu */
};

static struct writer begin(double t)
{
    return (struct writer){str_new(0), t, rng_open(rng_key(test_seed(), "report")), NULL};
}

static void start(struct writer *w, int step, const char *more)
{
    str_printf(
        &w->log,
        "{\"event\":\"start\",\"t\":%.3f,\"version\":\"0.1.0\",\"step\":%d,"
        "\"resumed\":%s,\"host\":\"lab\",\"device\":\"%s\",\"threads\":2,\"ranks\":1,"
        "\"parameters\":1000,\"data\":{\"train_pairs\":1234,"
        "\"train_source_tokens\":5000,\"train_target_tokens\":6000,"
        "\"valid_pairs\":50,\"tokenizer_pieces\":512}%s}\n",
        w->t, step, step ? "true" : "false", w->device ? w->device : "cpu", more);
}

static void start_configured(struct writer *w, int step)
{
    char more[2048];

    snprintf(more, sizeof more, ",\"roof_gflops\":100,\"config\":" CONFIG,
             test_path("data"));
    start(w, step, more);
}

static double rate_of(double t)
{
    return 2 / 8.0 * fmin((t + 1) * pow(400, -1.5), 1 / sqrt(t + 1));
}

/* Ten steps in an entry; 0.1 s a step: 5 data, 80 compute, 10 update, 5 other. */
static void step(struct writer *w, int at, double loss)
{
    w->t += 1;
    str_printf(&w->log,
               "{\"event\":\"step\",\"t\":%.3f,\"step\":%d,\"epoch\":0,\"loss\":%.6f,"
               "\"rate\":%.9g,\"grad_norm\":0.7,\"source_tokens\":900,"
               "\"target_tokens\":1100,\"sentences\":40,\"steps\":10,\"t_step\":1,"
               "\"t_data\":0.05,\"t_compute\":0.8,\"t_comm\":0,\"t_update\":0.1,"
               "\"tokens_per_s\":2000,\"gflops\":70,\"memory_mib\":123,\"skipped\":0}\n",
               w->t, at, loss, rate_of(at - 1));
}

static void evaluate(struct writer *w, int at, double loss, double bleu)
{
    w->t += 2;
    str_printf(&w->log,
               "{\"event\":\"eval\",\"t\":%.3f,\"step\":%d,\"valid_loss\":%.6f,"
               "\"eval_loss\":%.6f,\"forced_bleu\":0.4,\"bleu\":%.3f,"
               "\"bleu_signature\":\"nrefs:1\",\"seconds\":2}\n",
               w->t, at, loss, loss + 0.1, bleu);
}

static void stop(struct writer *w, int at)
{
    str_printf(&w->log,
               "{\"event\":\"stop\",\"t\":%.3f,\"step\":%d,\"reason\":\"max_steps\","
               "\"message\":\"\"}\n",
               w->t, at);
}

/* Steps of a made-up curve, evaluated every hundred. */
typedef double curve_fn(double step);

static void train(struct writer *w, int from, int to, curve_fn *train_loss,
                  curve_fn *valid_loss)
{
    for (int at = from + 10; at <= to; at += 10) {
        step(w, at, train_loss(at) + 0.02 * rng_normal(&w->noise));
        if (at % 100 == 0)
            evaluate(w, at, valid_loss(at) + 0.003 * rng_normal(&w->noise), 20);
    }
}

static double falling(double s)
{
    return 2 + 5 * pow(1 + s / 100, -0.7);
}

static double flat(double s)
{
    return 2 + 5 * exp(-s / 60);
}

static double level(double s)
{
    return 2 + (fmod(s, 200) > 0 ? 0.004 : -0.004);
}

static double turning(double s)
{
    return falling(fmin(s, 1000)) + 0.0005 * fmax(0, s - 1000);
}

static status write_one(const char *run, const char *out)
{
    struct sources sources;

    TRY(sources_open(&sources, run, &err));
    return report_write(
        &(struct report_request){.run = &sources, .n_runs = 1, .out = out}, &err);
}

static status open_run(struct run *run, double now)
{
    struct sources sources;

    TRY(sources_open(&sources, test_path("run"), &err));
    return run_open(run, &sources, now, NULL, &err);
}

/* The page of what was written so far; the caller frees it. */
static char *report(struct writer *w)
{
    struct file_map map;

    CHECK_OK(file_make_dirs(test_path("run"), &err), &err);
    CHECK_OK(file_write(test_path("run/run.jsonl"), str_text(&w->log), w->log.len, &err),
             &err);
    str_release(&w->log);
    CHECK_OK(write_one(test_path("run"), test_path("run/report.html")), &err);
    CHECK_OK(file_map_open(&map, test_path("run/report.html"), &err), &err);
    char *page = strndup((const char *)map.data, map.n_bytes);
    CHECK(page && strlen(page) == map.n_bytes);
    file_map_close(&map);
    const char *bad = markup_error(page);
    if (bad)
        test_fail(__FILE__, __LINE__, "malformed at '%.80s'", bad);
    return page;
}

/* The section that answers one question has this text in it. */
static void check_answer(const char *page, const char *id, const char *text)
{
    char opening[64];

    snprintf(opening, sizeof opening, "id=\"ask-%s\"", id);
    const char *at = strstr(page, opening);
    const char *end = at ? strstr(at, "</section>") : NULL;
    const char *found = at ? strstr(at, text) : NULL;
    if (!found || found > end)
        test_fail(__FILE__, __LINE__, "answer '%s' lacks '%s': %.700s", id, text,
                  at ? at : "(no such answer)");
}

#define CHECK_HAS(page, text)                                           \
    do {                                                                \
        if (!strstr(page, text))                                        \
            test_fail(__FILE__, __LINE__, "the page lacks '%s'", text); \
    } while (0)

TEST(a_finished_run_is_answered_in_full)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    train(&w, 0, 2000, falling, falling);
    stop(&w, 2000);
    char *page = report(&w);
    CHECK_HAS(page, "<h1>run</h1>");
    CHECK_HAS(page, "Finished at step 2,000: all its steps are done.");
    check_answer(page, "time", "4\u00a0min 00\u00a0s"); /* 200 s of steps, 20 x 2 s */
    check_answer(page, "time", "83.3\u00a0%");
    check_answer(page, "time", "16.7\u00a0%");
    check_answer(page, "trained", "still improving");
    check_answer(page, "overfit", ">no<");
    check_answer(page, "busy", "90.0\u00a0% of the step");
    check_answer(page, "busy", "70.0\u00a0% of the arithmetic rate");
    check_answer(page, "network", "no network");
    check_answer(page, "rate", "peak 0.0125");
    check_answer(page, "rate", "All 200 logged rates are what the formula gives.");
    check_answer(page, "data", "1,234 pairs");
    check_answer(page, "data", "together 11,000 subword tokens");
    check_answer(page, "step", "100\u00a0ms per step");
    check_answer(page, "step", "0.100 seconds per step = 10.0 steps per second");
    check_answer(page, "step", "over 1,990 steps");
    check_answer(page, "step", "80.0\u00a0%");
    check_answer(page, "follows", "no network");
    CHECK(!strstr(page, "<script"));
    free(page);
}

TEST(a_flat_run_is_not_called_improving)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    train(&w, 0, 2000, falling, level);
    stop(&w, 2000);
    char *page = report(&w);
    check_answer(page, "trained", "converged");
    free(page);
    w = begin(1e9);
    start_configured(&w, 0);
    train(&w, 0, 2000, flat, flat);
    page = report(&w);
    CHECK(!strstr(page, "still improving"));
    free(page);
}

TEST(overfitting_is_seen_and_dated)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    train(&w, 0, 2000, falling, turning);
    stop(&w, 2000);
    char *page = report(&w);
    check_answer(page, "overfit", "yes, from step 1,000 on");
    check_answer(page, "trained", "past its best");
    free(page);
}

TEST(a_running_run_and_a_dead_one_are_told_apart)
{
    struct writer w = begin(clock_wall() - 200);

    start_configured(&w, 0);
    train(&w, 0, 1600, falling, falling);
    str_puts(&w.log, "{\"event\":\"step\",\"t\":17"); /* being written now */
    char *page = report(&w);
    CHECK_HAS(page, "Running: the last entry, at step 1,600");
    CHECK_HAS(page, "1 line is half-written");
    check_answer(page, "time", "remaining 400 of 2,000 steps");
    free(page);
    w = begin(clock_wall() - 86400);
    start_configured(&w, 0);
    train(&w, 0, 500, falling, falling);
    page = report(&w);
    CHECK_HAS(page, "without a stop event");
    CHECK_HAS(page, "the run died, or was killed");
    free(page);
}

/* How often `what` stands in the attribute value that begins after the next `"M`. */
static size_t count_in(const char *text, char what, char end)
{
    size_t n = 0;

    for (text = strstr(text, "\"M") + 1; *text && *text != end; text++)
        n += *text == what ? 1 : 0;
    return n;
}

TEST(a_resumed_run_counts_lost_steps_and_idle_time)
{
    struct writer w = begin(1e9);
    struct run run;

    start_configured(&w, 0);
    train(&w, 0, 500, falling, falling);
    w.t += 1000;
    start_configured(&w, 400);
    train(&w, 400, 2000, falling, falling);
    stop(&w, 2000);
    char *page = report(&w);
    CHECK_HAS(page, "Resumed 1 time.");
    check_answer(page, "time", "2 sessions; 100 steps were taken twice");
    check_answer(page, "time", "between sessions");
    check_answer(page, "step", "20 steps: the first entry of each session");
    CHECK_HAS(page, "resumed at step 400");
    const char *point = strstr(page, "validation, step 500: ");
    CHECK(point && !strstr(point + 1, "validation, step 500: ")); /* of two, the valid */
    const char *plot = strstr(page, "id=\"plot-rate\"");
    const char *path = plot ? strstr(plot, "<path class=\"line c1\" d=\"M45.") : NULL;
    CHECK(path && count_in(path, 'L', '"') == 199);
    free(page);

    CHECK_OK(open_run(&run, 1e9 + 5000), &err);
    CHECK(run.state == RUN_FINISHED && run.step == 2000 && run.steps_lost == 100);
    CHECK_NEAR(run.times.idle, 1000, 1e-9);
    CHECK_NEAR(run.times.in_steps, 210, 1e-9);
    CHECK_NEAR(run.times.in_evals, 42, 1e-9);
    CHECK_NEAR(run.times.wall, 1252, 1e-9);
    CHECK_NEAR(run.times.in_other, 0, 1e-9);
    CHECK_NEAR(run.pace.mean, 0.1, 1e-9);
    CHECK_NEAR(run.pace.t_compute, 0.08, 1e-9);
    CHECK_NEAR(run.pace.other, 0.005, 1e-9);
    CHECK_NEAR(run.pace.tokens_per_s, 2000, 1e-9);
    CHECK_NEAR(run.pace.target_per_s, 1100, 1e-9);
    CHECK(run.pace.n_left_out == 20 && run.pace.n_steps == 2080);
    run_close(&run);
}

TEST(training_loss_is_weighed_by_tokens)
{
    struct writer w = begin(1e9);
    struct run run;

    str_puts(&w.log,
             "{\"event\":\"step\",\"t\":1,\"step\":1,\"loss\":1,\"target_tokens\":30}\n"
             "{\"event\":\"step\",\"t\":2,\"step\":2,\"loss\":5,\"target_tokens\":10}\n"
             "{\"event\":\"step\",\"t\":3,\"step\":3,\"loss\":null}\n");
    free(report(&w));
    CHECK_OK(open_run(&run, 4), &err);
    CHECK_NEAR(runlog_train_loss(&run.log, 0, 3), 2, 1e-12);
    CHECK_NEAR(runlog_train_loss(&run.log, 1, 3), 5, 1e-12);
    CHECK(isnan(runlog_train_loss(&run.log, 2, 3)));
    run_close(&run);
}

TEST(one_single_step_makes_a_page)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    step(&w, 1, 7.5);
    char *page = report(&w);
    check_answer(page, "trained", "too early to tell");
    check_answer(page, "overfit", "too early to tell");
    check_answer(page, "rate", "has not left warm-up");
    check_answer(page, "step", "100\u00a0ms per step");
    check_answer(page, "step", "nothing");
    free(page);
}

TEST(an_empty_log_makes_a_page_that_names_what_is_missing)
{
    struct writer w = begin(1e9);
    static const char *const ids[] = {"time",  "busy",  "network", "rate",   "data",
                                      "files", "sizes", "step",    "follows"};
    char *page = report(&w);

    CHECK_HAS(page, "The log is empty");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        check_answer(page, ids[i], "Missing: ");
    CHECK_HAS(page, "The log holds no sample translations.");
    CHECK_HAS(page, "The log holds no configuration.");
    CHECK(!strstr(page, ">nan") && !strstr(page, "-nan") && !strstr(page, "inf "));
    free(page);
}

/* What is said of 70 GFLOP/s where this was the roof. */
static char *page_of_roof(const char *device, const char *roof)
{
    struct writer w = begin(1e9);
    char more[64];

    w.device = device;
    snprintf(more, sizeof more, ",\"roof_gflops\":%s", roof);
    start(&w, 0, more);
    for (int i = 1; i < 20; i++)
        step(&w, 10 * i, 3);
    return report(&w);
}

TEST(a_rate_above_the_roof_is_explained_by_a_matrix_unit_or_doubted)
{
    char *plain = page_of_roof("cpu, AVX-512, 2 threads", "50");
    char *unit = page_of_roof("cpu, AMX, 2 threads", "50");
    char *below = page_of_roof("cpu, AMX, 2 threads", "70");

    check_answer(plain, "busy", "or one of the two is wrong");
    check_answer(unit, "busy", "140.0\u00a0% of the rate of the machine");
    check_answer(below, "busy", "100.0\u00a0% of the arithmetic rate");
    free(plain);
    free(unit);
    free(below);
}

TEST(values_of_null_are_missing_not_zero)
{
    struct writer w = begin(1e9);

    start(&w, 0, ",\"roof_gflops\":null");
    for (int i = 1; i < 20; i++)
        str_printf(&w.log,
                   "{\"event\":\"step\",\"t\":%d,\"step\":%d,\"loss\":null,\"rate\":null,"
                   "\"grad_norm\":null,\"t_step\":null}\n"
                   "{\"event\":\"eval\",\"t\":%d,\"step\":%d,\"valid_loss\":null,"
                   "\"bleu\":null}\n",
                   1000 + i, i, 1000 + i, i);
    char *page = report(&w);
    check_answer(page, "step", "Missing: ");
    check_answer(page, "rate", "Missing: ");
    check_answer(page, "trained", "too early to tell");
    CHECK_HAS(page, "The log holds no value for this plot.");
    CHECK_HAS(page, "no translated text was scored");
    CHECK(!strstr(page, ">nan") && !strstr(page, "-nan"));
    free(page);
}

TEST(hostile_strings_of_a_run_are_shown_as_text)
{
    struct writer w = begin(1e9);
    static const char evil[] = "<script>alert(1)</script>'\\\"&<img src=x onerror=y>";

    start(&w, 0, ",\"config\":{\"<script>k\":\"<script>v\",\"lr_policy\":\"<b>\"}");
    step(&w, 10, 3);
    str_printf(&w.log,
               "{\"event\":\"sample\",\"t\":1,\"step\":10,\"source\":\"%s\","
               "\"reference\":\"%s\",\"translation\":\"%s\"}\n"
               "{\"event\":\"save\",\"t\":1,\"step\":10,\"path\":\"%s\"}\n"
               "{\"event\":\"best\",\"t\":1,\"step\":10,\"path\":\"%s\"}\n"
               "{\"event\":\"skip\",\"t\":1,\"step\":10,\"reason\":\"%s\"}\n"
               "{\"event\":\"stop\",\"t\":1,\"step\":10,\"reason\":\"%s\","
               "\"message\":\"%s\"}\n"
               "{\"event\":\"test\",\"t\":1,\"step\":10,\"name\":\"%s\","
               "\"bleu_signature\":\"%s\"}\n",
               evil, evil, evil, evil, evil, evil, evil, evil, evil, evil);
    char *page = report(&w);
    CHECK(!strstr(page, "<script") && !strstr(page, "<img") && !strstr(page, "<b>\""));
    CHECK_HAS(page, "&lt;script&gt;k");
    CHECK_HAS(page, "&lt;script&gt;v");
    CHECK_HAS(page, "&lt;script&gt;alert(1)&lt;/script&gt;&#39;&quot;&amp;&lt;img src=x");
    free(page);
}

static void put_file(const char *name, size_t n)
{
    char *bytes = calloc(1, n + 1);

    CHECK(bytes);
    CHECK_OK(file_write(test_path(name), bytes, n, &err), &err);
    free(bytes);
}

/* The index of 1,000 weights under Adam, with or without their moving average. */
static void put_index(const char *name, bool is_averaged)
{
    const struct tensor_entry entry[] = {
        {"ForwardPass/w", TENSOR_FLOAT, 1, {1000}, 0, 0, 4000, 0},
        {"ForwardPass/w/ExponentialMovingAverage",
         TENSOR_FLOAT,
         1,
         {1000},
         0,
         12016,
         4000,
         0},
        {"Loss_Optimization/beta1_power", TENSOR_FLOAT, 0, {0}, 0, 4000, 4, 0},
        {"Loss_Optimization/beta2_power", TENSOR_FLOAT, 0, {0}, 0, 4004, 4, 0},
        {"Loss_Optimization/w/Adam", TENSOR_FLOAT, 1, {1000}, 0, 4008, 4000, 0},
        {"Loss_Optimization/w/Adam_1", TENSOR_FLOAT, 1, {1000}, 0, 8008, 4000, 0},
        {"global_step", TENSOR_INT64, 0, {0}, 0, 12008, 8, 0},
    };
    struct tensor_index_writer w;

    CHECK_OK(tensor_index_writer_init(&w, &err), &err);
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++)
        if (i != 1 || is_averaged)
            CHECK_OK(tensor_index_writer_add(&w, &entry[i], &err), &err);
    CHECK_OK(tensor_index_writer_finish(&w, &err), &err);
    CHECK_OK(file_write(test_path(name), w.table.out.data, w.table.out.len, &err), &err);
    tensor_index_writer_release(&w);
}

TEST(a_checkpoint_is_explained_to_the_byte)
{
    struct writer w = begin(1e9);

    CHECK_OK(file_make_dirs(test_path("run/best_models"), &err), &err);
    put_file("run/model.ckpt-400.data-00000-of-00001", 999);
    put_file("run/model.ckpt-400.index", 10);
    put_file("run/model.ckpt-2000.data-00000-of-00001", 12016);
    put_index("run/model.ckpt-2000.index", false);
    put_file("run/model.ckpt-2000.meta", 20);
    put_file("run/model.ckpt-2000.state", 30);
    put_file("run/model.ckpt-x.index", 30);
    put_file("run/checkpoint", 40);
    put_file("run/best_models/val_loss=1.2345-step-400.index", 5);
    start_configured(&w, 0);
    train(&w, 0, 100, falling, falling);
    char *page = report(&w);
    check_answer(page, "files", "4 files, 12.");
    check_answer(page, "files", "keeps 2 checkpoints, 13.");
    check_answer(page, "files", "best_models holds 1 more, 5\u00a0bytes");
    check_answer(page, "files", "model.ckpt-2000.index");
    check_answer(page, "sizes", "12,016 bytes");
    check_answer(page, "sizes", "to the byte");
    check_answer(page, "sizes", "beta1_power 4, beta2_power 4, global_step 8");
    check_answer(page, "sizes", "8,000 bytes in 2 tensors: 8.00 per parameter");
    free(page);
    put_file("run/model.ckpt-2000.data-00000-of-00001", 12020);
    w = begin(1e9);
    start_configured(&w, 0);
    page = report(&w);
    check_answer(page, "sizes", "4 bytes more");
    free(page);
    put_file("run/model.ckpt-2000.data-00000-of-00001", 16016);
    put_index("run/model.ckpt-2000.index", true);
    w = begin(1e9);
    start(&w, 0, ",\"config\":{\"moving_average\":0.99}");
    page = report(&w);
    check_answer(page, "sizes", "16.0 bytes per parameter");
    check_answer(page, "sizes", "to the byte");
    free(page);
}

TEST(the_corpus_before_cleaning_is_told_or_missing)
{
    static const char stats[] =
        "{\"pairs_in\":2000,\"pairs_kept\":1500,\"dropped\":{\"too_long\":400,\"empty\":"
        "0,"
        "\"<i>\":100},\"sets\":{\"train\":{\"inputs\":["
        "{\"source\":{\"bytes\":100,\"lines\":7},\"target\":{\"bytes\":200,\"lines\":7}},"
        "{\"source\":{\"bytes\":11,\"lines\":3},\"target\":{\"bytes\":22,\"lines\":3}}],"
        "\"bytes\":4096}},\"stages\":{"
        "\"clean\":{\"before\":{\"pairs\":2000,\"source_bytes\":111,\"target_bytes\":222}"
        ","
        "\"after\":{\"pairs\":1500,\"source_bytes\":90,\"target_bytes\":180}},"
        "\"encode\":{\"before\":{\"pairs\":1500,\"source_bytes\":90,\"target_bytes\":180}"
        ","
        "\"after\":{\"pairs\":1500,\"source_bytes\":10000,\"target_bytes\":12000}},"
        "\"pack\":{\"before\":{\"pairs\":1500,\"source_bytes\":10000}}}}";
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    char *page = report(&w);
    check_answer(page, "data", "could not be read here");
    free(page);
    CHECK_OK(file_make_dirs(test_path("data"), &err), &err);
    CHECK_OK(file_write(test_path("data/prepare.json"), stats, sizeof stats - 1, &err),
             &err);
    w = begin(1e9);
    start_configured(&w, 0);
    page = report(&w);
    check_answer(page, "data", "kept 1,500 of 2,000 pairs (75.0\u00a0%)");
    check_answer(page, "data", "111\u00a0bytes (111 bytes), 10 lines");
    check_answer(page, "data", "222\u00a0bytes (222 bytes), 10 lines");
    check_answer(page, "data", "dropped, too_long");
    check_answer(page, "data", "dropped, &lt;i&gt;");
    CHECK(!strstr(page, "dropped, empty"));
    check_answer(page, "data",
                 "2,000 pairs, 111\u00a0bytes + 222\u00a0bytes \u2192 "
                 "1,500 pairs, 90\u00a0bytes + 180\u00a0bytes");
    check_answer(page, "data",
                 "1,500 pairs, 90\u00a0bytes + 180\u00a0bytes \u2192 "
                 "1,500 pairs, 5,000 + 6,000 tokens, 10.0\u00a0kB + 12.0\u00a0kB");
    CHECK(!strstr(page, "stage: pack")); /* has no end */
    free(page);
    CHECK_OK(file_write(test_path("data/prepare.json"), "[[[{", 4, &err), &err);
    w = begin(1e9);
    start_configured(&w, 0);
    page = report(&w);
    check_answer(page, "data", "could not be read here");
    free(page);
}

TEST(a_rate_that_differs_from_its_formula_is_told)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    step(&w, 10, 3);
    str_puts(
        &w.log,
        "{\"event\":\"step\",\"t\":1,\"step\":800,\"rate\":0.0097227}\n"); /* x 1.1 */
    char *page = report(&w);
    check_answer(page, "rate", "differ from the formula by up to 10.0\u00a0%");
    free(page);
}

TEST(the_network_is_judged_when_there_is_one)
{
    struct writer w = begin(1e9);

    str_puts(&w.log, "{\"event\":\"start\",\"t\":1,\"step\":0,\"ranks\":4}\n");
    for (int i = 1; i <= 50; i++)
        str_printf(&w.log,
                   "{\"event\":\"step\",\"t\":%d,\"step\":%d,\"steps\":1,\"t_step\":%f,"
                   "\"t_compute\":0.2,\"t_update\":0.1,\"t_comm\":%f}\n",
                   i, i, 0.9 + 0.01 * (i % 5), 0.6 + 0.01 * (i % 5));
    char *page = report(&w);
    check_answer(page, "network", "Yes: a step waits");
    check_answer(page, "follows", "r = 1.00");
    CHECK_HAS(page, "</i>exchange");
    free(page);
}

TEST(very_many_events_are_cut_in_the_middle)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    for (int i = 1; i <= 5000; i++)
        str_printf(&w.log,
                   "{\"event\":\"skip\",\"t\":%d,\"step\":%d,\"reason\":\"no %d.\"}\n", i,
                   i, i);
    char *page = report(&w);
    CHECK_HAS(page, "4601 more events");
    CHECK_HAS(page, "no 199..");
    CHECK_HAS(page, "no 5000..");
    CHECK_HAS(page, "no 4801..");
    CHECK(!strstr(page, "no 200..") && !strstr(page, "no 4800.."));
    free(page);
}

/* Every one of these stands in the page, each after the one before. */
static void check_order(const char *page, const char *const *text)
{
    for (const char *at = page; *text; text++) {
        at = strstr(at, *text);
        if (!at)
            test_fail(__FILE__, __LINE__, "'%s' is missing or too early", *text);
    }
}

TEST(a_page_leads_from_the_verdict_to_the_details)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    train(&w, 0, 2000, falling, falling);
    stop(&w, 2000);
    str_printf(&w.log,
               "{\"event\":\"test\",\"t\":%.3f,\"step\":2000,\"name\":\"test\","
               "\"bleu\":31.4,\"bleu_signature\":\"nrefs:1\",\"loss\":2,"
               "\"sentences\":50}\n",
               w.t + 1);
    char *page = report(&w);
    check_order(page, (const char *const[]){
                          "<nav class=\"contents\"", "<h1>", "class=\"lead\"",
                          "class=\"facts\"", "Test BLEU</span><b>31.4<",
                          "<h2 id=\"findings\"", "<h2 id=\"curves\"", "id=\"plot-loss\"",
                          "<h2 id=\"samples\"", "31.40", "<h2 id=\"questions\"",
                          "class=\"short-list\"", "id=\"ask-time\"", "<h2 id=\"details\"",
                          ">Configuration<", ">Events<", NULL});
    size_t n = 0;
    for (const char *at = page; (at = strstr(at, "href=\"#")); n++) {
        char id[64];
        at += strlen("href=\"#");
        snprintf(id, sizeof id, "id=\"%.*s\"", (int)strcspn(at, "\""), at);
        CHECK_HAS(page, id);
    }
    CHECK(n == 5 + ANSWERS_N);
    free(page);
}

static void check_tone(const char *page, const char *id, const char *tone)
{
    char opening[96];

    snprintf(opening, sizeof opening, "<section class=\"answer %s\" id=\"ask-%s\">", tone,
             id);
    CHECK_HAS(page, opening);
}

TEST(the_colour_of_a_verdict_agrees_with_its_finding)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    train(&w, 0, 2000, falling, turning);
    stop(&w, 2000);
    char *page = report(&w);
    check_tone(page, "overfit", "watch");
    check_tone(page, "trained", "watch");
    check_tone(page, "busy", "good");
    check_tone(page, "rate", "plain"); /* a peak is neither good nor bad */
    free(page);
    w = begin(clock_wall() - 200);
    start_configured(&w, 0);
    train(&w, 0, 1600, falling, falling);
    page = report(&w);
    check_tone(page, "trained", "plain"); /* to improve is what a running one is for */
    free(page);
    page = page_of_roof("cpu", "200");
    check_tone(page, "busy", "watch");
    check_answer(page, "busy", "90.0\u00a0% of the step, at 35.0\u00a0% of the roof<");
    free(page);
}

TEST(stages_that_say_the_same_share_a_row)
{
    static const char end[] = "{\"pairs\":20,\"source_bytes\":111,\"target_bytes\":222}";
    struct str stats = str_new(0);
    struct writer w = begin(1e9);

    str_printf(&stats,
               "{\"stages\":{\"count\":{\"before\":%s,\"after\":%s},\"clean\":{"
               "\"before\":%s,\"after\":%s},\"learn\":{\"before\":%s,\"after\":{"
               "\"pairs\":19,\"source_bytes\":111,\"target_bytes\":222}}}}",
               end, end, end, end, end);
    CHECK_OK(file_make_dirs(test_path("data"), &err), &err);
    CHECK_OK(
        file_write(test_path("data/prepare.json"), str_text(&stats), stats.len, &err),
        &err);
    str_release(&stats);
    start_configured(&w, 0);
    char *page = report(&w);
    check_answer(page, "data", "<th>stage: count, clean</th>");
    check_answer(page, "data", "222\u00a0bytes, unchanged<");
    check_answer(page, "data", "<th>stage: learn</th>");
    check_answer(page, "data", "222\u00a0bytes \u2192 19 pairs");
    free(page);
}

TEST(logged_and_computed_rates_are_told_apart)
{
    struct writer w = begin(1e9);

    start_configured(&w, 0);
    train(&w, 0, 900, falling, falling);
    char *page = report(&w);
    check_answer(page, "rate", "computed by the formula");
    check_answer(page, "rate", "<path class=\"line band c2\" d=\"M");
    check_answer(page, "rate", "<path class=\"line c1\" d=\"M");
    free(page);
}

TEST(what_is_no_run_is_refused_in_one_sentence)
{
    const char *out = test_path("report.html");

    CHECK_FAILS(write_one(test_path("absent"), out), &err, ERR_IO,
                "absent: no such directory");
    CHECK_OK(file_make_dirs(test_path("bare"), &err), &err);
    CHECK_FAILS(write_one(test_path("bare"), out), &err, ERR_IO, "run.jsonl");
    CHECK_OK(file_write(test_path("bare/run.jsonl"), "{}\n", 3, &err), &err);
    CHECK_FAILS(write_one(test_path("bare"), out), &err, ERR_FORMAT, "run.jsonl:1: ");
    CHECK(!file_exists(out));
    CHECK_OK(file_write(test_path("bare/run.jsonl"), "", 0, &err), &err);
    CHECK_FAILS(write_one(test_path("bare"), test_path("no/such/place.html")), &err,
                ERR_IO, "place.html");
}
