/*
 * answers - what people ask of a run, each answered with a number, a verdict in a plain
 * sentence, the evidence, and sometimes a picture.
 *
 * ANSWER_LIST is the only place that names a question. An answer is data first (a code
 * and values for programs; number, verdict and rows of evidence as plain text for
 * people); HTML, Markdown and JSON are made of it at the end.
 *
 * Owns: its strings. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct run;

/* id, the function that answers, the question */
#define ANSWER_LIST(A)                                                                \
    A(time, answers_pace_time, "How long did the run take?")                          \
    A(trained, answers_learning_trained, "Is the model fully trained?")               \
    A(overfit, answers_learning_overfit, "Does it overfit?")                          \
    A(busy, answers_pace_busy, "Were the processors busy computing?")                 \
    A(network, answers_network_bound, "Was the network the bottleneck?")              \
    A(rate, answers_learning_rate, "How was the learning rate chosen?")               \
    A(data, answers_files_data, "How large was the training set?")                    \
    A(files, answers_files_checkpoint, "What is in the files of a checkpoint?")       \
    A(sizes, answers_files_sizes, "Why is a checkpoint as large as it is?")           \
    A(step, answers_pace_step, "How long is an average step, and how does it split?") \
    A(follows, answers_network_follows, "Does the step time follow the network?")

enum answer_tone {
    ANSWER_PLAIN,
    ANSWER_GOOD,
    ANSWER_WATCH,  /* something to act on */
    ANSWER_UNKNOWN /* the data does not say */
};

struct answer_row {
    struct str label, value;
};

/* A number under its name, in SI units; NAN is null in JSON. */
struct answer_value {
    const char *key; /* a literal */
    double v;
};

enum { ANSWER_VALUES_MAX = 48 };

struct answer {
    const char *id, *question;
    const char *code; /* the verdict for programs, a literal: "improving" */
    enum answer_tone tone;
    struct answer_value value[ANSWER_VALUES_MAX];
    size_t n_values;
    struct str number, verdict; /* plain text */
    struct answer_row *row;     /* plain text */
    size_t n_rows, cap_rows;
    struct str picture; /* HTML */
    status failed;      /* the first failure of a row or picture */
};

/* Used by the functions of ANSWER_LIST: each fills the zeroed answer it is given. */
typedef void answer_fn(struct answer *a, const struct run *run, struct err *err);
#define A(id, fn, question) answer_fn fn;
ANSWER_LIST(A)
#undef A

void answers_say(struct answer *a, enum answer_tone tone, const char *fmt, ...)
    PRINTF(3, 4);
void answers_number(struct answer *a, const char *fmt, ...) PRINTF(2, 3);
void answers_row(struct answer *a, struct err *err, const char *label, const char *fmt,
                 ...) PRINTF(4, 5);
/* Unknown, because this is missing: names it. */
void answers_missing(struct answer *a, const char *what);

void answers_code(struct answer *a, const char *code);
void answers_value(struct answer *a, const char *key, double v);

/* Every question of ANSWER_LIST, in its order. */
#define A(id, fn, question) ANSWER_##id,
enum { ANSWER_LIST(A) ANSWERS_N };
#undef A

struct answers {
    struct answer of[ANSWERS_N];
};

status answers_open(struct answers *all, const struct run *run,
                    struct err *err) MUST_CHECK;
void answers_close(struct answers *all);

/* "good", "watch", "unknown" or "plain". */
const char *answers_tone(enum answer_tone tone);
/* All answers as HTML sections. */
void answers_html(struct str *out, const struct answers *all);
