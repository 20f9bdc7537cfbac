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

/* This process is a rank whose peers may wait for it for ever, or it for them: main must
 * end it at once (comm_abort). */
extern bool cmd_has_peers;

/* name, its options, the words it takes, what it does; in the order of use */
/* clang-format off */
#define COMMAND_LIST(C)                                                                   \
    C(sample, sample_options_table, "DIR", "write a German-English sample corpus")        \
    C(fetch, fetch_config_table, "NAME DIR", "download a corpus and verify it")           \
    C(prepare, prepare_config_table, "pairs=FILE out=DIR", "clean, encode and pack parallel text") \
    C(train, train_config_table, "[CONFIG] data=DIR run=DIR", "train a Transformer, or resume a run") \
    C(launch, launch_config_table, "-H a:2,b:2 -- train CONFIG...", "train on many machines; restart after failures") \
    C(adapt, adapt_options, "MODEL pairs=FILE run=DIR", "a model learns from translations of your own") \
    C(eval, eval_options, "RUN", "loss, BLEU, chrF and TER of a trained model")           \
    C(translate, translate_text_options, "RUN [FILE...]", "translate raw text")           \
    C(serve, serve_options, "MODEL...", "translate over HTTP, as LibreTranslate's clients ask for it") \
    C(pack, packing_options, "RUN out=FILE", "one file a model, for using it: int8 weights, tokenizer, licence") \
    C(import, importing_options, "MODEL out=FILE", "a model of Hugging Face, Marian or CTranslate2 becomes one file") \
    C(export, exporting_options, "MODEL to=PROGRAM out=DIR", "a model as CTranslate2, Marian, Hugging Face or others load it") \
    C(score, cmd_score_options, "REF... HYP", "BLEU, chrF and TER as sacreBLEU computes them")        \
    C(score_pairs, score_pairs_options, "MODEL [FILE...]", "how likely a model finds given translations") \
    C(average, cmd_average_options, "RUN", "average the weights of several checkpoints")  \
    C(inspect, inspect_options, "FILE...", "show what a checkpoint, event file, corpus or tokenizer contains") \
    C(bench, bench_options, "[gemm|memory|kernels|int8|wire|step|translate|text]", "measure the speed of this machine and of Ferry") \
    C(doctor, cmd_doctor_options, "[--device D]", "list the devices and check that one computes correctly") \
    C(watch, cmd_watch_options, "RUN", "show the state of a run, in the terminal or as a page") \
    C(report, cmd_report_options, "RUN [RUN...]", "judge a run from its files, or compare several") \
    C(plan, plan_options_table, "CONFIG [option of train...]", "predict step time, traffic and cost of a cluster") \
    C(help, cmd_help_options, "[COMMAND]", "list the commands, or the options of one")    \
    C(version, cmd_version_options, "", "which Ferry this is, what was compiled in, what is found here")
/* clang-format on */

#define COMMAND_PROTOTYPE(name, options, words, summary)       \
    status cmd_##name(int argc, char **argv, struct err *err); \
    extern const struct opt_table options;
COMMAND_LIST(COMMAND_PROTOTYPE)
