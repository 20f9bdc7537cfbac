#include "cli/cmd.h"
#include "decode/pairs/score_pairs.h"

status cmd_score_pairs(int argc, char **argv, struct err *err)
{
    static const char *const standard_input[] = {"-"};
    struct opt_words words = {.max = SIZE_MAX};
    struct score_pairs_config c;

    TRY(opt_read(score_pairs_options, &c, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE,
                       "which model? usage: ferry score-pairs MODEL [FILE...]");
    const bool has_files = words.n > 1;
    return score_pairs_run(&c, words.word[0], has_files ? words.word + 1 : standard_input,
                           has_files ? words.n - 1 : 1, stdout, stderr, err);
}
