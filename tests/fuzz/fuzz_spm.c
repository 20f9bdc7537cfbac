/* Any bytes as a SentencePiece model: refused with a sentence, or it cuts and joins text
 * and writes itself out. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "text/spm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use(const struct spm *spm)
{
    static const char text[] =
        "Die F\xC3\xA4hre \xEF\xAC\x81\xE2\x91\xA0 \xF0\x9F\x99\x82 "
        "\xFF ferry, 1.5\xE3\x80\x80x";
    struct spm_ids ids = {0};
    struct str out = str_new(1 << 20);
    struct err err;

    if (spm_encode(spm, (struct line){text, sizeof text - 1}, &ids, &err) == OK) {
        for (size_t i = 0; i < ids.n; i++)
            if (ids.id[i] < 0 || (size_t)ids.id[i] >= spm_size(spm))
                abort();
        if (spm_decode(spm, ids.id, ids.n, &out, &err) != OK && !err.msg[0])
            abort();
    }
    for (int32_t id = 0; (size_t)id < spm_size(spm); id++)
        if (!spm_piece(spm, id))
            abort();
    str_release(&out);
    spm_ids_release(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct spm *spm;
    struct err err = {0};

    if (spm_parse(&spm, data, n, &err) == OK)
        use(spm);
    else if (!err.msg[0])
        abort();
    spm_free(spm);
    return 0;
}
