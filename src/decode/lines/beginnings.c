#include "decode/lines/beginnings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/subword/encoder.h"

void beginnings_release(struct beginnings *b)
{
    free(b->item);
    spm_ids_release(&b->ids);
    free(b->code);
    str_release(&b->text);
    *b = (struct beginnings){0};
}

/* Bytes up to and with the last white space. */
static size_t whole_words(struct line text)
{
    for (size_t n = text.n_bytes, len; n; n -= len)
        if (utf8_is_space(utf8_decode_last(text.text, n, &len)))
            return n;
    return 0;
}

static bool is_known(const struct spm_ids *ids, size_t from)
{
    for (size_t i = from; i < ids->n; i++)
        if (ids->id[i] == ID_UNK)
            return false;
    return true;
}

static status add_code(struct beginnings *b, struct beginning *item, uint32_t code,
                       struct err *err)
{
    TRY(mem_grow(&b->code, &b->cap_codes, b->n_codes + 1, sizeof *b->code, err));
    b->code[b->n_codes++] = code;
    item->n_codes++;
    return OK;
}

/* The letters of the last word, behind a blank. */
static status add_letters(struct beginnings *b, struct beginning *item,
                          const struct spm *spm, struct line last, struct err *err)
{
    RELEASED_BY(mem_release) uint32_t *code = NULL;
    size_t n;

    TRY(letters_normalise(spm, last, &code, &n, err));
    if (item->n_ids > 1 && (!n || code[0] != ' '))
        TRY(add_code(b, item, ' ', err));
    for (size_t i = 0; i < n; i++)
        TRY(add_code(b, item, code[i], err));
    return OK;
}

/* What the tokenizer makes of it: a text that begins a translation has no blank first. */
static status add_text(struct beginnings *b, struct beginning *item,
                       const struct spm *spm, struct err *err)
{
    if (!b->text.max)
        b->text = str_new(0);
    item->text_at = b->text.len;
    if (item->n_ids > 1)
        TRY(spm_decode(spm, b->ids.id + item->id_at + 1, item->n_ids - 1, &b->text, err));
    for (size_t i = 0; i < item->n_codes; i++) {
        char bytes[4];
        const size_t n = utf8_encode(bytes, b->code[item->code_at + i]);
        if (i || item->n_ids > 1 || bytes[0] != ' ')
            str_add(&b->text, bytes, n);
    }
    item->n_bytes = b->text.len - item->text_at;
    return str_check(&b->text, "the given beginnings", err);
}

static status add_parts(struct beginnings *b, struct beginning *item,
                        const struct spm *spm, struct encoder *encoder, struct err *err)
{
    const size_t n_whole = whole_words(item->given);
    const struct line whole = {item->given.text, n_whole};
    const struct line last = {item->given.text + n_whole, item->given.n_bytes - n_whole};

    TRY(spm_ids_add(&b->ids, ID_BOS, err));
    TRY(encoder_encode(encoder, whole, &b->ids, err));
    const size_t n_words = b->ids.n;
    TRY(encoder_encode(encoder, last, &b->ids, err));
    const bool is_spelled = is_known(&b->ids, n_words);
    if (is_spelled)
        b->ids.n = n_words;
    item->n_ids = b->ids.n - item->id_at;
    if (is_spelled)
        TRY(add_letters(b, item, spm, last, err));
    if (item->n_ids + item->n_codes > 1)
        return add_text(b, item, spm, err);
    b->ids.n = item->id_at; /* white space, or less */
    item->n_ids = 0;
    return OK;
}

status beginnings_add(struct beginnings *b, const struct spm *spm,
                      struct encoder *encoder, struct line given, size_t max_length,
                      struct err *err)
{
    struct beginning item = {.given = given, .id_at = b->ids.n, .code_at = b->n_codes};

    TRY(mem_grow(&b->item, &b->cap, b->n + 1, sizeof *b->item, err));
    if (given.n_bytes)
        TRY(add_parts(b, &item, spm, encoder, err));
    if (item.n_ids + item.n_codes > max_length)
        return err_set(
            err, ERR_FORMAT,
            "the given beginning has %zu tokens, an unfinished last word taken "
            "letter by letter; at most max_length = %zu are taken",
            item.n_ids + item.n_codes, max_length);
    b->item[b->n++] = item;
    return OK;
}

size_t beginnings_length(const struct beginnings *b, size_t i)
{
    return b->item[i].n_ids + b->item[i].n_codes;
}

void beginnings_guide(const struct beginnings *b, size_t i, struct guide *g)
{
    const struct beginning *item = &b->item[i];

    g->prefix = item->n_ids ? b->ids.id + item->id_at : NULL;
    g->n_prefix = item->n_ids;
    g->rest = (struct letters_text){b->code + item->code_at, item->n_codes};
}

void beginnings_join(const struct beginnings *b, size_t i, struct line translation,
                     struct str *out)
{
    const struct beginning *item = &b->item[i];
    const char *text = str_text(&b->text) + item->text_at;

    str_add(out, item->given.text, item->given.n_bytes);
    if (translation.n_bytes > item->n_bytes &&
        memcmp(translation.text, text, item->n_bytes) == 0)
        str_add(out, translation.text + item->n_bytes,
                translation.n_bytes - item->n_bytes);
}
