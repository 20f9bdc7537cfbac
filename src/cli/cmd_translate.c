#include "cli/cmd.h"
#include "decode/translate_text.h"

status cmd_translate(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 2};
    struct translate_text_config c;

    TRY(opt_read(translate_text_options, &c, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE, "which run? usage: ferry translate RUN [FILE]");
    return translate_text_run(&c, words.word[0], words.n > 1 ? words.word[1] : "-",
                              stdout, stderr, err);
}
