/* Any bytes as a SentencePiece model: refused with a sentence, or it cuts and joins text
 * and writes itself out, and our encoder gives the ids that SentencePiece gives. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/subword/encoder.h"
#include "text/subword/spm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const texts[] = {
    "Die F\xC3\xA4hre \xEF\xAC\x81\xE2\x91\xA0 \xF0\x9F\x99\x82 \xFF ferry, "
    "1.5\xE3\x80\x80x",
    "  the  the\xE2\x96\x81 a\xCC\x88 \xCC\x88 <s></s> aaaa abab \x01 \t"};

static void check_encoder(const struct spm *spm, struct line line,
                          const struct spm_ids *want)
{
    struct encoder *e;
    struct spm_ids got = {0};
    struct err err = {0};

    if (encoder_new(&e, spm, 1, &err) != OK || encoder_encode(e, line, &got, &err) != OK)
        abort();
    if (got.n != want->n || (got.n && memcmp(got.id, want->id, 4 * got.n) != 0))
        abort();
    spm_ids_release(&got);
    encoder_free(e);
}

static void use(const struct spm *spm, struct line line)
{
    struct spm_ids ids = {0};
    struct str out = str_new(1 << 20);
    struct err err = {0};

    if (spm_encode(spm, line, &ids, &err) == OK) {
        for (size_t i = 0; i < ids.n; i++)
            if (ids.id[i] < 0 || (size_t)ids.id[i] >= spm_size(spm))
                abort();
        if (spm_decode(spm, ids.id, ids.n, &out, &err) != OK && !err.msg[0])
            abort();
        check_encoder(spm, line, &ids);
    }
    str_release(&out);
    spm_ids_release(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct spm *spm;
    struct err err = {0};

    if (spm_parse(&spm, data, n, &err) == OK) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            use(spm, (struct line){texts[i], strlen(texts[i])});
        for (int32_t id = 0; (size_t)id < spm_size(spm); id++)
            if (!spm_piece(spm, id))
                abort();
    } else if (!err.msg[0]) {
        abort();
    }
    spm_free(spm);
    return 0;
}
