/* Any bytes as a text: a model is learned from it, and our encoder gives each of its
 * lines the ids that SentencePiece gives; so do words that a full memory has to forget.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/subword/encoder.h"
#include "train_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_lines(const struct spm *spm, struct encoder *e, struct lines *lines)
{
    struct spm_ids got = {0}, want = {0};
    struct line line;
    struct err err = {0};

    while (lines_next(lines, &line)) {
        got.n = want.n = 0;
        if (encoder_encode(e, line, &got, &err) != OK ||
            spm_encode(spm, line, &want, &err) != OK)
            abort();
        if (got.n != want.n || (got.n && memcmp(got.id, want.id, 4 * got.n) != 0))
            abort();
    }
    spm_ids_release(&got);
    spm_ids_release(&want);
}

static struct spm *learn(void)
{
    static const char text[] =
        "the ferry crosses the river\nthe river is wide aaaa abab\n"
        "\xC3\xA4 a\xCC\x88 \xF0\x9F\x99\x82 \xD7\x90\xD7\x91 1.5\n";
    const struct spm_train_options o = {.vocab_size = 1000, .is_at_most = true};
    struct lines lines = lines_over(text, sizeof text - 1);
    struct spm *spm;
    struct err err = {0};

    if (train_lines(&spm, o, train_lines_next, &lines, NULL, &err) != OK)
        abort();
    return spm;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct spm *spm;
    static struct encoder *e;
    struct lines lines = lines_over(data, n);
    struct err err = {0};

    if (!spm) {
        spm = learn();
        if (encoder_new(&e, spm, 1, &err) != OK || !encoder_is_own(e))
            abort();
    }
    check_lines(spm, e, &lines);
    return 0;
}
