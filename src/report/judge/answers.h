/*
 * answers - what people ask of a run, each answered with a number, a verdict in a plain
 * sentence, the evidence, and sometimes a picture.
 *
 * ANSWER_LIST is the only place that names a question. An answer is data (a code and
 * values for programs; number, verdict and rows of evidence as plain text for people; and
 * which picture belongs to it). HTML, Markdown and JSON are made of it in show.
 *
 * Owns: its strings. Outlived by the run, whose names its bar borrows. Threads: one.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "page/fmt.h"
#include "page/page.h"

struct run;

/* id, the function that answers, the question */
#define ANSWER_LIST(A)                                                                \
    A(time, answers_pace_time, "How long did the run take?")                          \
    A(trained, answers_learning_trained, "Is the model fully trained?")               \
    A(overfit, answers_learning_overfit, "Does it overfit?")                          \
    A(busy, answers_busy, "Were the processors busy computing?")                      \
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
    char key[40];
    double v;
};

/* The picture beside an answer, which show draws from the run. */
enum answer_figure {
    ANSWER_NO_FIGURE,
    ANSWER_FORECAST,   /* validation loss with the fitted curve, to twice the steps */
    ANSWER_GAP,        /* validation minus training loss */
    ANSWER_RATE,       /* the logged learning rate against its formula */
    ANSWER_ARITHMETIC, /* the arithmetic rate against the measured roof */
    ANSWER_TIMELINE    /* a typical step of each rank as a row of its phases */
};

enum { ANSWER_VALUES_MAX = 48, ANSWER_PARTS_MAX = 12 };

struct answer {
    const char *id, *question;
    const char *code; /* the verdict for programs, a literal: "improving" */
    enum answer_tone tone;
    struct answer_value value[ANSWER_VALUES_MAX];
    size_t n_values;
    struct str number, verdict; /* plain text */
    struct answer_row *row;     /* plain text */
    size_t n_rows, cap_rows;
    enum answer_figure figure;
    struct page_bar bar; /* of these parts; without a title there is none */
    struct page_part part[ANSWER_PARTS_MAX];
    status failed; /* the first failure, told in *err */
    struct err *err;
};

/* Used by the functions of ANSWER_LIST: each fills the zeroed answer it is given. */
typedef void answer_fn(struct answer *a, const struct run *run);
#define A(id, fn, question) answer_fn fn;
ANSWER_LIST(A)
#undef A

void answers_say(struct answer *a, enum answer_tone tone, const char *fmt, ...)
    PRINTF(3, 4);
void answers_number(struct answer *a, const char *fmt, ...) PRINTF(2, 3);
void answers_row(struct answer *a, const char *label, const char *fmt, ...) PRINTF(3, 4);
/* A bar of parts, at most ANSWER_PARTS_MAX; the names are borrowed. */
void answers_bar(struct answer *a, const char *title, struct fmt (*text)(double),
                 const struct page_part *part, size_t n);
/* Unknown, because this is missing: names it. */
void answers_missing(struct answer *a, const char *what);

void answers_value(struct answer *a, const char *key, double v);

/* Every question of ANSWER_LIST, in its order. */
#define A(id, fn, question) ANSWER_##id,
enum { ANSWER_LIST(A) ANSWERS_N };
#undef A

struct answers {
    struct answer of[ANSWERS_N];
};

status answers_open(struct answers *all, const struct run *run, struct err *err);
void answers_close(struct answers *all);

/* Of enum answer_tone: "plain", "good", "watch", "unknown". */
extern const char *const answers_tones[];
