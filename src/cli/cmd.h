/*
 * cmd - the subcommands. Adding one: a cmd_NAME.c, a line in COMMAND_LIST.
 *
 * A command parses, checks, builds and calls; the work is in the rooms below. Its
 * options are a table (base/opt.h), so that --help is complete by construction.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/opt.h"

/* This process is a rank of a job whose others may wait for it, or for whom it would wait
 * for ever: it must end at once (dist/comm/comm.h). */
extern bool cmd_has_peers;

/* name, the words it takes, what it does; in the order of use */
#define COMMAND_LIST(C)                                                                  \
    C(sample, "DIR", "write a German-English sample corpus")                             \
    C(fetch, "NAME DIR", "download a corpus, whole and checked")                         \
    C(prepare, "key=value...", "clean, encode and pack parallel text")                   \
    C(train, "CONFIG data=DIR run=DIR", "train a Transformer, or resume a run")          \
    C(launch, "-H a:2,b:2 -- train CONFIG...", "train on many machines, through faults") \
    C(eval, "RUN", "loss and BLEU of a trained model")                                   \
    C(translate, "RUN [FILE]", "translate raw text")                                     \
    C(score, "REF HYP", "BLEU as sacreBLEU computes it")                                 \
    C(average, "RUN", "average the weights of several checkpoints")                      \
    C(inspect, "FILE...", "what is inside a checkpoint, event file, corpus, tokenizer")  \
    C(bench, "[gemm|memory|kernels|wire|step]", "speed of this machine and of a step")   \
    C(doctor, "[--device D]", "which devices there are, and whether one computes right") \
    C(watch, "RUN", "how a run stands now, in the terminal or as a page")                \
    C(report, "RUN [RUN...]", "answer the questions of a run; compare several")          \
    C(plan, "CONFIG", "predict step time, traffic and cost of a cluster")

#define C(name, words, summary)                                           \
    status cmd_##name(int argc, char **argv, struct err *err) MUST_CHECK; \
    extern const struct opt_table cmd_##name##_options;
COMMAND_LIST(C)
#undef C
