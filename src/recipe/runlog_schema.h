/*
 * runlog_schema - every field of run.jsonl, once (docs/formats/runlog.md says what each
 * means). The writer in train and the reader in report expand the same lists, and a test
 * holds the document against them.
 *
 * A list stands for a kind of entry, or for an object inside one, in the order of the
 * file. Its rows are F(type, name, unit): the structs below have a member of that name.
 *
 *   INT    a double, written as an integer
 *   REAL   a double; null when it is not finite
 *   MAYBE  a double, left out when it is not finite
 *   FLAG   a bool
 *   HASH   a uint64_t, written as 16 hexadecimal digits; left out when it is 0
 *   TEXT   a string; left out when NULL
 *   JSON   an object or list that the writer makes; the reader leaves it NULL
 *
 * Numbers that a log does not give, or gives as null, are read as NAN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

/* Of every entry, after its "event". */
#define RUNLOG_COMMON(F) \
    F(REAL, t, "s")      \
    F(INT, step, "")

#define RUNLOG_START(F)             \
    F(TEXT, version, "")            \
    F(FLAG, resumed, "")            \
    F(TEXT, host, "")               \
    F(TEXT, device, "")             \
    F(INT, threads, "")             \
    F(INT, processors, "")          \
    F(INT, ranks, "")               \
    F(MAYBE, ranks_before, "")      \
    F(INT, nodes, "")               \
    F(INT, parameters, "")          \
    F(INT, micro_tokens, "tokens")  \
    F(JSON, config, "")             \
    F(JSON, data, "")               \
    F(REAL, roof_gflops, "GFLOP/s") \
    F(JSON, network, "")

/* The objects "data" and "network" of a start. */
#define RUNLOG_DATA(F)                    \
    F(INT, train_pairs, "")               \
    F(INT, train_source_tokens, "tokens") \
    F(INT, train_target_tokens, "tokens") \
    F(INT, valid_pairs, "")               \
    F(INT, tokenizer_pieces, "")          \
    F(TEXT, tokenizer_hash, "")           \
    F(TEXT, train_hash, "")               \
    F(TEXT, valid_hash, "")

#define RUNLOG_NETWORK(F)        \
    F(TEXT, backend, "")         \
    F(TEXT, library, "")         \
    F(TEXT, gradients, "")       \
    F(JSON, settings, "")        \
    F(JSON, hosts, "")           \
    F(REAL, latency_s, "s")      \
    F(REAL, mb_per_s, "MB/s")    \
    F(REAL, clock_spread_s, "s") \
    F(REAL, free_mib, "MiB")     \
    F(REAL, disk_mib, "MiB")

/*
 * Two more columns say how a field of one update becomes that of several, and that of one
 * rank that of all. Over steps: SUM, the LAST one's, the MEAN over target tokens (summed
 * until it is written), MADE of the others when it is written, or the MOST so far. Over
 * ranks: they ADD up, or the first rank's OWN counts.
 */
#define RUNLOG_STEP(F)                           \
    F(INT, epoch, "", LAST, OWN)                 \
    F(REAL, loss, "nats", MEAN, ADD)             \
    F(MAYBE, disagreement, "nats", MEAN, ADD)    \
    F(REAL, rate, "", LAST, OWN)                 \
    F(REAL, grad_norm, "", LAST, OWN)            \
    F(MAYBE, loss_scale, "", LAST, OWN)          \
    F(INT, source_tokens, "tokens", SUM, ADD)    \
    F(INT, target_tokens, "tokens", SUM, ADD)    \
    F(MAYBE, target_weight, "tokens", SUM, ADD)  \
    F(INT, sentences, "", SUM, ADD)              \
    F(INT, steps, "", SUM, OWN)                  \
    F(REAL, t_step, "s", SUM, OWN)               \
    F(REAL, t_data, "s", SUM, OWN)               \
    F(REAL, t_compute, "s", SUM, OWN)            \
    F(REAL, t_comm, "s", SUM, OWN)               \
    F(REAL, t_hidden, "s", SUM, OWN)             \
    F(REAL, t_update, "s", SUM, OWN)             \
    F(REAL, tokens_per_s, "tokens/s", MADE, OWN) \
    F(REAL, gflops, "GFLOP/s", MADE, OWN)        \
    F(INT, memory_mib, "MiB", MOST, OWN)         \
    F(INT, skipped, "", SUM, OWN)                \
    F(HASH, pairs_hash, "", LAST, OWN)

#define RUNLOG_RANKS(F) \
    F(INT, slowest, "") \
    F(JSON, ranks, "")

/* One rank of a ranks entry. The fourth column is how the report takes entries together:
 * a SUM (then divided by the steps), the TIMED mean over t_step, the LAST or the MOST. */
#define RUNLOG_RANK(F)                        \
    F(INT, rank, "", LAST)                    \
    F(TEXT, host, "", LAST)                   \
    F(REAL, t_step, "s", SUM)                 \
    F(REAL, t_data, "s", SUM)                 \
    F(REAL, t_compute, "s", SUM)              \
    F(REAL, t_comm, "s", SUM)                 \
    F(REAL, t_hidden, "s", SUM)               \
    F(REAL, t_update, "s", SUM)               \
    F(MAYBE, cores, "", TIMED)                \
    F(MAYBE, memory_mib, "MiB", LAST)         \
    F(MAYBE, gpu_busy, "", TIMED)             \
    F(MAYBE, gpu_power_w, "W", TIMED)         \
    F(MAYBE, gpu_power_limit_w, "W", LAST)    \
    F(MAYBE, gpu_memory_mib, "MiB", MOST)     \
    F(MAYBE, gpu_memory_all_mib, "MiB", LAST) \
    F(MAYBE, gpu_clock_mhz, "MHz", TIMED)     \
    F(MAYBE, gpu_clock_max_mhz, "MHz", LAST)  \
    F(INT, sent_bytes, "bytes", SUM)          \
    F(INT, received_bytes, "bytes", SUM)      \
    F(JSON, cards, "", LAST)

/* One network card of a rank's "cards". */
#define RUNLOG_CARD(F)        \
    F(INT, sent, "bytes")     \
    F(INT, received, "bytes") \
    F(INT, errors, "packets") \
    F(MAYBE, dropped, "packets")

#define RUNLOG_EVAL(F)          \
    F(REAL, valid_loss, "nats") \
    F(REAL, eval_loss, "nats")  \
    F(REAL, forced_bleu, "")    \
    F(REAL, bleu, "")           \
    F(TEXT, bleu_signature, "") \
    F(MAYBE, chrf, "")          \
    F(MAYBE, chrf_words, "")    \
    F(MAYBE, ter, "")           \
    F(MAYBE, repeating, "")     \
    F(MAYBE, length_ratio, "")  \
    F(REAL, seconds, "s")

/* Another validation set, at the step of the eval entry before it. */
#define RUNLOG_VALID(F)         \
    F(TEXT, name, "")           \
    F(REAL, valid_loss, "nats") \
    F(MAYBE, bleu, "")          \
    F(MAYBE, chrf, "")          \
    F(MAYBE, chrf_words, "")    \
    F(MAYBE, ter, "")           \
    F(MAYBE, repeating, "")     \
    F(MAYBE, length_ratio, "")  \
    F(INT, sentences, "")       \
    F(REAL, seconds, "s")

#define RUNLOG_SAVE(F)     \
    F(TEXT, path, "")      \
    F(INT, bytes, "bytes") \
    F(REAL, seconds, "s")  \
    F(REAL, total_seconds, "s")

#define RUNLOG_BEST(F)           \
    F(TEXT, path, "")            \
    F(MAYBE, valid_loss, "nats") \
    F(MAYBE, bleu, "")           \
    F(TEXT, measure, "")         \
    F(TEXT, set, "")             \
    F(MAYBE, value, "")

#define RUNLOG_SKIP(F) F(TEXT, reason, "")

#define RUNLOG_SAMPLE(F)   \
    F(TEXT, kind, "")      \
    F(TEXT, source, "")    \
    F(TEXT, reference, "") \
    F(TEXT, translation, "")

#define RUNLOG_TEST(F)          \
    F(TEXT, name, "")           \
    F(REAL, loss, "nats")       \
    F(REAL, eval_loss, "nats")  \
    F(REAL, forced_bleu, "")    \
    F(REAL, bleu, "")           \
    F(TEXT, bleu_signature, "") \
    F(MAYBE, chrf, "")          \
    F(MAYBE, chrf_words, "")    \
    F(MAYBE, ter, "")           \
    F(MAYBE, repeating, "")     \
    F(MAYBE, length_ratio, "")  \
    F(INT, sentences, "")       \
    F(TEXT, text_hash, "")      \
    F(TEXT, note, "")

#define RUNLOG_STOP(F)  \
    F(TEXT, reason, "") \
    F(TEXT, message, "")

#define RUNLOG_MEMBER_INT(name)        double name;
#define RUNLOG_MEMBER_REAL(name)       double name;
#define RUNLOG_MEMBER_MAYBE(name)      double name;
#define RUNLOG_MEMBER_FLAG(name)       bool name;
#define RUNLOG_MEMBER_HASH(name)       uint64_t name;
#define RUNLOG_MEMBER_TEXT(name)       const char *name;
#define RUNLOG_MEMBER_JSON(name)       struct json_t *name;
#define RUNLOG_MEMBER(type, name, ...) RUNLOG_MEMBER_##type(name)

/* A setting as it would be typed. */
struct runlog_pair {
    char *key, *value;
};

/* A log may hold several sessions, each with a start. What follows the lists is for its
 * reader. `is_lost`: a later session began before it, so the model does not know of it;
 * `lost_run`: with so many entries up to this one, which a search from the end skips.
 */
struct runlog_start {
    RUNLOG_COMMON(RUNLOG_MEMBER)
    RUNLOG_START(RUNLOG_MEMBER)
    RUNLOG_DATA(RUNLOG_MEMBER)
    RUNLOG_NETWORK(RUNLOG_MEMBER)
    struct runlog_pair *option; /* of "config" */
    size_t n_options;
};

struct runlog_step {
    RUNLOG_COMMON(RUNLOG_MEMBER)
    RUNLOG_STEP(RUNLOG_MEMBER)
    bool is_lost;
    size_t lost_run;
    bool is_first; /* of its session */
    bool has_eval; /* t_step holds an evaluation, of t_eval seconds */
    double t_eval;
    size_t session; /* start entries before it */
    /* exact, however many entries a very long log takes together in one */
    size_t entries;
    double slowest; /* seconds a step of the slowest of several */
    double low;     /* mean loss of RUNLOG_FEW entries up to one of them: the least */
};
enum { RUNLOG_FEW = 5 };

struct runlog_ranks {
    RUNLOG_COMMON(RUNLOG_MEMBER)
    RUNLOG_RANKS(RUNLOG_MEMBER)
    double steps;    /* that its sums cover: those of the step entry beside it */
    size_t first, n; /* its ranks in the reader's list of all */
    bool is_lost;
    size_t lost_run;
    bool is_first;  /* of its session */
    size_t entries; /* taken together in it */
};

/* Bytes are those of its busiest card, errors of all; NAN when this rank named none. */
struct runlog_rank {
    RUNLOG_RANK(RUNLOG_MEMBER)
    double card_sent, card_received, card_errors;
    double n_busiest; /* entries of those in its own in which no other rank was busier */
};

struct runlog_card {
    RUNLOG_CARD(RUNLOG_MEMBER)
};

struct runlog_eval {
    RUNLOG_COMMON(RUNLOG_MEMBER)
    RUNLOG_EVAL(RUNLOG_MEMBER)
    bool is_lost;
    size_t lost_run;
    size_t entries; /* of which it is the best one */
};

#define RUNLOG_ENTRY(name, LIST)     \
    struct runlog_##name {           \
        RUNLOG_COMMON(RUNLOG_MEMBER) \
        LIST(RUNLOG_MEMBER)          \
    };
RUNLOG_ENTRY(valid, RUNLOG_VALID)
RUNLOG_ENTRY(sample, RUNLOG_SAMPLE)
RUNLOG_ENTRY(save, RUNLOG_SAVE)
RUNLOG_ENTRY(best, RUNLOG_BEST)
RUNLOG_ENTRY(skip, RUNLOG_SKIP)
RUNLOG_ENTRY(test, RUNLOG_TEST)
RUNLOG_ENTRY(stop, RUNLOG_STOP)

enum runlog_type {
    RUNLOG_INT,
    RUNLOG_REAL,
    RUNLOG_MAYBE,
    RUNLOG_FLAG,
    RUNLOG_HASH,
    RUNLOG_TEXT,
    RUNLOG_JSON
};

enum runlog_over {
    RUNLOG_NONE,
    RUNLOG_SUM,
    RUNLOG_LAST,
    RUNLOG_MEAN,
    RUNLOG_MADE,
    RUNLOG_TIMED,
    RUNLOG_MOST,
    RUNLOG_OWN,
    RUNLOG_ADD
};

struct runlog_field {
    const char *name;
    enum runlog_type type;
    size_t at; /* offset in the struct */
    const char *unit;
    enum runlog_over over_steps, over_ranks;
};

/* kind, name: of entries, and of objects inside them */
#define RUNLOG_ENTRIES(K) \
    K(START, start)       \
    K(STEP, step)         \
    K(RANKS, ranks)       \
    K(EVAL, eval)         \
    K(VALID, valid)       \
    K(SAVE, save)         \
    K(BEST, best)         \
    K(SKIP, skip)         \
    K(SAMPLE, sample)     \
    K(TEST, test)         \
    K(STOP, stop)
#define RUNLOG_OBJECTS(K) \
    K(DATA, data)         \
    K(NETWORK, network)   \
    K(RANK, rank)         \
    K(CARD, card)

#define RUNLOG_KIND(kind, name) RUNLOG_KIND_##kind,
enum runlog_kind {
    RUNLOG_ENTRIES(RUNLOG_KIND) RUNLOG_OBJECTS(RUNLOG_KIND) RUNLOG_KINDS_N,
    RUNLOG_ENTRIES_N = RUNLOG_KIND_DATA
};

/* Fields of a step that add up over ranks. */
#define RUNLOG_IS_ADDED(type, name, unit, steps, ranks) +(RUNLOG_##ranks == RUNLOG_ADD)
enum { RUNLOG_STEP_ADDED = 0 RUNLOG_STEP(RUNLOG_IS_ADDED) };

/* A kind's rows; those of an entry begin with RUNLOG_COMMON's. */
struct runlog_object {
    const char *name;
    const struct runlog_field *field;
    size_t n;
};

extern const struct runlog_object runlog_schema[RUNLOG_KINDS_N];
