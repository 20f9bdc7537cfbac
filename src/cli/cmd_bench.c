#include "cli/cmd.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "bench/bench_kernels.h"
#include "bench/bench_step.h"
#include "bench/bench_text.h"
#include "bench/bench_wire.h"
#include "device/device.h"
#include "train/log/roof.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define BENCH_OPTIONS(X)                                                               \
    X(CHOICE, size, "base", "model of the step", ONE_OF("base|small|tiny"))            \
    X(INT, tokens, "2048", "target tokens of a step", RANGE(16, 1e6))                  \
    X(INT, mean, "28", "mean sentence length", RANGE(4, 2000))                         \
    X(INT, steps, "7", "timed steps", RANGE(1, 1000))                                  \
    X(REAL, dropout, "0.1", "dropout of the step", RANGE(0, 0.9))                      \
    X(CHOICE, device, "auto", "where to compute", ONE_OF(DEVICE_KINDS))        \
    X(INT, threads, "0", "threads; 0: one a core", RANGE(0, 1024))                     \
    X(INT, against, "0", "step: every other step with so many threads", RANGE(0, 1024)) \
    X(CHOICE, wire, "all", "wire: form of the gradients", ONE_OF("all|fp32|bf16|fp16|int8")) \
    X(INT, bucket_mib, "25", "wire: gradients sent at once, as fp32", RANGE(1, 4096))  \
    X(INT, comm_poll_us, "50", "wire: longest sleep while waiting", RANGE(0, 1e6))     \
    X(STR, text, "", "text to learn subwords from and to encode", ANY)                 \
    X(STR, out, "", "PREFIX of the tokenizer learned from the text", ANY)              \
    X(INT, vocab_size, "32768", "pieces to learn from the text", RANGE(5, 65536))      \
    X(STR, tokenizer, "", "FILE.model to encode by; nothing is learned then", ANY)     \
    X(BOOL, learn_only, "false", "do not encode the text", ANY)                        \
    X(BOOL, json, "false", "JSON lines instead of tables", ANY)
/* clang-format on */

struct bench_config {
    BENCH_OPTIONS(OPT_FIELD)
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct bench_config, field), field, __VA_ARGS__)
    BENCH_OPTIONS(X)
#undef X
};

const struct opt_table cmd_bench_options = {rows, sizeof rows / sizeof *rows};

/* name, d_model, d_ff, heads, layers of each stack, vocabulary */
#define SIZE_LIST(S)                  \
    S("base", 512, 2048, 8, 6, 32768) \
    S("small", 256, 1024, 4, 3, 8192) \
    S("tiny", 128, 256, 4, 4, 10000)

static struct model_config size_of(const char *name)
{
#define S(text, d, f, h, l, v)                              \
    if (strcmp(name, text) == 0)                            \
        return (struct model_config){.vocab_size = (v),     \
                                     .d_model = (d),        \
                                     .d_ff = (f),           \
                                     .heads = (h),          \
                                     .encoder_layers = (l), \
                                     .decoder_layers = (l), \
                                     .norm_epsilon = 1e-6};
    SIZE_LIST(S)
#undef S
    return (struct model_config){0};
}

static size_t threads_of(const struct bench_config *c)
{
    return c->threads ? (size_t)c->threads : pool_cores();
}

static void put_json(json_t *o)
{
    json_dumpf(o, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    putchar('\n');
    fflush(stdout);
    json_decref(o);
}

static json_t *step_json(const struct bench_config *c, const struct bench_step_result *r)
{
    json_t *o = json_pack(
        "{ss, ss, sI, sI, sf, sf, sf, sf, s{sf, sf, sf, sf, sf}, sf}", "bench", "step",
        "size", c->size, "tokens", (json_int_t)c->tokens, "threads",
        (json_int_t)r->threads, "tokens_per_s", r->tokens_per_s, "best_tokens_per_s",
        r->best_tokens_per_s, "gflops", r->gflops, "peak_mib", r->peak_mib, "phases",
        "step", r->t_step, "data", r->t_data, "forward", r->t_forward, "backward",
        r->t_backward, "update", r->t_update, "loss", r->loss);

    if (r->roof_gflops > 0)
        json_object_update_new(o, json_pack("{sf, sf, sf}", "roof_gflops", r->roof_gflops,
                                            "best_roof_gflops", r->best_roof_gflops,
                                            "percent_of_roof",
                                            100 * r->gflops / r->roof_gflops));

    if (c->against)
        json_object_update_new(
            o, json_pack("{sI, sf, sf}", "against", (json_int_t)c->against,
                         "against_tokens_per_s", r->against_tokens_per_s, "times_against",
                         r->times_against));
    return o;
}

static status run_step(const struct bench_config *c, struct err *err)
{
    const struct bench_step_options o = {.model = size_of(c->size),
                                         .device = c->device,
                                         .threads = threads_of(c),
                                         .tokens = (size_t)c->tokens,
                                         .mean_length = (size_t)c->mean,
                                         .steps = (size_t)c->steps,
                                         .against = (size_t)c->against,
                                         .dropout = c->dropout};
    struct bench_step_result r;

    TRY(bench_step(&o, &r, err));
    if (c->json) {
        put_json(step_json(c, &r));
        return OK;
    }
    printf("step      %s, %lld target tokens, %zu threads: %.0f tokens/s, %.1f GFLOP/s, ",
           c->size, (long long)c->tokens, r.threads, r.tokens_per_s, r.gflops);
    if (r.roof_gflops > 0)
        printf("%.0f %% of the roof of %.1f, ", 100 * r.gflops / r.roof_gflops,
               r.roof_gflops);
    printf("peak %.0f MiB\n", r.peak_mib);
    printf("          %.0f ms: data %.1f, forward and output %.1f, backward %.1f, "
           "update %.1f\n",
           1e3 * r.t_step, 1e3 * r.t_data, 1e3 * r.t_forward, 1e3 * r.t_backward,
           1e3 * r.t_update);
    if (c->against)
        printf(
            "          %.2f times the %.0f tokens/s with threads=%lld in turns with it\n",
            r.times_against, r.against_tokens_per_s, (long long)c->against);
    return OK;
}

/* What products are measured against; 0 on a GPU, whose roof is not the processor's. */
static status product_roof(double *gflops, const struct bench_config *c, struct err *err)
{
    struct device d;

    TRY(device_open(&d, c->device, (struct device_options){.threads = 1}, err));
    const bool is_gpu = d.driver;
    device_close(&d);
    *gflops = 0;
    return is_gpu ? OK : roof_gemm(gflops, threads_of(c), 1, err);
}

static void tell_product(const struct bench_config *c, const char *name,
                         struct roof_shape s, double rate, double roof)
{
    if (c->json) {
        json_t *o = json_pack("{ss, ss, sI, sI, sI, sf}", "bench", "gemm", "name", name,
                              "m", (json_int_t)s.M, "n", (json_int_t)s.N, "k",
                              (json_int_t)s.K, "gflops", rate);
        if (roof > 0)
            json_object_update_new(o, json_pack("{sf, sf}", "roof_gflops", roof,
                                                "percent_of_roof", 100 * rate / roof));
        put_json(o);
        return;
    }
    printf("gemm      %-32s %5zu x %5zu x %5zu  %7.1f GFLOP/s", name, s.M, s.N, s.K,
           rate);
    if (roof > 0)
        printf("  %3.0f %%", 100 * rate / roof);
    putchar('\n');
}

/* The products of a step at this size: layer, M, N, K, transposed operands. */
static status run_gemm(const struct bench_config *c, struct err *err)
{
    const struct model_config m = size_of(c->size);
    const size_t T = (size_t)c->tokens, D = (size_t)m.d_model, F = (size_t)m.d_ff;
    const size_t V = (size_t)m.vocab_size, chunk = T < 512 ? T : 512;
    const struct {
        const char *name;
        struct roof_shape shape;
    } list[] = {{"q|k|v forward", {T, 3 * D, D, 0, 0}},
                {"q|k|v input gradient", {T, D, 3 * D, 0, 1}},
                {"q|k|v weight gradient", {D, 3 * D, T, 1, 0}},
                {"attention out forward", {T, D, D, 0, 0}},
                {"feed-forward 1 forward", {T, F, D, 0, 0}},
                {"feed-forward 1 weight gradient", {D, F, T, 1, 0}},
                {"feed-forward 2 forward", {T, D, F, 0, 0}},
                {"feed-forward 2 weight gradient", {F, D, T, 1, 0}},
                {"output logits", {chunk, V, D, 0, 1}},
                {"output input gradient", {chunk, D, V, 0, 0}},
                {"output weight gradient", {V, D, chunk, 1, 0}}};
    double roof;

    TRY(product_roof(&roof, c, err));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        double rate;
        TRY(roof_shape(&rate, c->device, threads_of(c), list[i].shape, 0.3, err));
        tell_product(c, list[i].name, list[i].shape, rate, roof);
    }
    return OK;
}

static status run_memory(const struct bench_config *c, struct err *err)
{
    double one, all;

    TRY(roof_memory(&one, c->device, 1, err));
    TRY(roof_memory(&all, c->device, threads_of(c), err));
    if (c->json)
        put_json(json_pack("{ss, sf, sf, sI}", "bench", "memory", "one_thread_gb_per_s",
                           one, "gb_per_s", all, "threads", (json_int_t)threads_of(c)));
    else
        printf("memory    %.1f GB/s on one thread, %.1f on %zu\n", one, all,
               threads_of(c));
    return OK;
}

static status run_kernels(const struct bench_config *c, struct err *err)
{
    const struct model_config m = size_of(c->size);
    const struct bench_cases_options o = {.model = &m,
                                          .device = c->device,
                                          .threads = threads_of(c),
                                          .tokens = (size_t)c->tokens,
                                          .length = (size_t)c->mean,
                                          .dropout = c->dropout};

    return bench_kernels(&o, c->json, stdout, err);
}

static status run_wire(const struct bench_config *c, struct err *err)
{
    const struct model_config m = size_of(c->size);
    const struct bench_wire_options o = {.model = &m,
                                         .wire = c->wire,
                                         .steps = (size_t)c->steps,
                                         .bucket_mib = (size_t)c->bucket_mib,
                                         .poll_us = (int)c->comm_poll_us,
                                         .json = c->json};

    return bench_wire(&o, stdout, err);
}

static status run_text(const struct bench_config *c, struct err *err)
{
    const struct bench_text_options o = {.path = c->text,
                                         .out = c->out,
                                         .tokenizer = c->tokenizer,
                                         .threads = threads_of(c),
                                         .vocab_size = (size_t)c->vocab_size,
                                         .is_learning_only = c->learn_only,
                                         .json = c->json};

    if (!c->text[0])
        return err_set(err, ERR_USAGE,
                       "text is missing; name a file with a sentence a "
                       "line");
    if (c->tokenizer[0] && (c->out[0] || c->learn_only))
        return err_set(err, ERR_USAGE,
                       "tokenizer = %s leaves nothing to learn; leave out tokenizer, or "
                       "out and learn_only",
                       c->tokenizer);
    return bench_text(&o, stdout, err);
}

struct part {
    const char *name;
    status (*run)(const struct bench_config *, struct err *);
};

static const struct part parts[] = {{"gemm", run_gemm},       {"memory", run_memory},
                                    {"kernels", run_kernels}, {"wire", run_wire},
                                    {"step", run_step},       {"text", run_text}};

status cmd_bench(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct bench_config c;
    bool found = false;

    TRY(opt_read(cmd_bench_options, &c, &words, argc, argv, err));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (words.n ? strcmp(words.word[0], parts[i].name) != 0
                    : parts[i].run == run_text && !c.text[0])
            continue;
        found = true;
        TRY(parts[i].run(&c, err));
    }
    if (!found)
        return err_set(err, ERR_USAGE,
                       "nothing is called '%.64s'; there are gemm, "
                       "memory, kernels, wire, step and text",
                       words.word[0]);
    return OK;
}
