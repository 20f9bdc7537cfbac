#include "cli/cmd.h"
#include "train/eval/eval.h"

status cmd_eval(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct eval_config c;

    TRY(opt_read(eval_options, &c, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE, "which run? usage: ferry eval RUN");
    if (c.at_least > 0 && !c.bleu)
        return err_set(err, ERR_USAGE, "at_least = %g needs bleu = true", c.at_least);
    return eval_run(&c, words.word[0], stdout, stderr, err);
}
