#include "cli/cmd.h"
#include "decode/translate_text.h"

status cmd_translate(int argc, char **argv, struct err *err)
{
    static const char *const standard_input[] = {"-"};
    struct opt_words words = {.max = SIZE_MAX};
    struct translate_text_config c;

    TRY(opt_read(translate_text_options, &c, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE, "which run? usage: ferry translate RUN [FILE...]");
    const bool has_files = words.n > 1;
    return translate_text_run(&c, words.word[0],
                              has_files ? words.word + 1 : standard_input,
                              has_files ? words.n - 1 : 1, stdout, stderr, err);
}
