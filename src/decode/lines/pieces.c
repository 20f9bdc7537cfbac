#include "decode/lines/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "decode/lines/segments.h"
#include "text/unicode.h"

static bool has_word(struct line text)
{
    for (size_t at = 0, len; at < text.n_bytes; at += len) {
        const uint32_t code = utf8_decode(text.text + at, text.n_bytes - at, &len);
        if (unicode_is_letter(code) || unicode_is_digit(code))
            return true;
    }
    return false;
}

/* The text of a piece that stands alone. Nearly all are their own text behind the mark of
 * a word; what begins like a symbol or a byte (<s>, <0x0A>) is asked for. */
static status text_of(const struct spm *spm, int32_t id, struct str *text,
                      struct line *piece, struct err *err)
{
    static const char mark[] = "\xE2\x96\x81"; /* U+2581 */
    const char *own = spm_piece(spm, id);

    if (id != ID_UNK && own[0] != '<') {
        own += strncmp(own, mark, 3) == 0 ? 3 : 0;
        *piece = (struct line){own, strlen(own)};
        if (!strstr(own, mark))
            return OK;
    }
    str_reset(text);
    TRY(spm_decode(spm, &id, 1, text, err));
    *piece = (struct line){text->data, text->len};
    return OK;
}

/* Which pieces of targets a reader sees when they stand alone. */
static status find_text(struct pieces *p, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    const struct spm *spm = spm_target(p->spm);

    TRY(mem_alloc(&p->is_text, p->n, sizeof *p->is_text, err));
    for (size_t i = ID_UNK; i < p->n; i++) {
        struct line piece;
        TRY(text_of(spm, (int32_t)i, &text, &piece, err));
        p->is_text[i] = segments_is_visible(piece);
    }
    return OK;
}

/* Which of sources hold letters or digits. */
static status find_words(struct pieces *p, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    const size_t n = spm_size(p->spm);

    TRY(mem_alloc(&p->is_word, n, sizeof *p->is_word, err));
    for (size_t i = ID_UNK + 1; i < n; i++) {
        struct line piece;
        TRY(text_of(p->spm, (int32_t)i, &text, &piece, err));
        p->is_word[i] = has_word(piece);
    }
    return OK;
}

status pieces_open(struct pieces **out, const struct spm *spm, size_t cache_bytes,
                   struct err *err)
{
    struct pieces *p;

    *out = NULL;
    TRY(spm_check_special(spm, err));
    TRY(spm_check_special(spm_target(spm), err));
    TRY(mem_alloc(&p, 1, sizeof *p, err));
    *p = (struct pieces){
        .spm = spm, .n = spm_size(spm_target(spm)), .cache_bytes = cache_bytes};
    pthread_mutex_init(&p->lock, NULL);
    if (find_text(p, err) != OK || find_words(p, err) != OK) {
        pieces_close(p);
        return err->code;
    }
    *out = p;
    return OK;
}

void pieces_close(struct pieces *p)
{
    if (!p)
        return;
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < p->idle[side].n; i++)
            encoder_free(p->idle[side].encoder[i]);
        free(p->idle[side].encoder);
    }
    letters_close(&p->letters);
    free(p->is_text);
    free(p->is_word);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

status pieces_letters(struct pieces *p, const struct letters **letters, struct err *err)
{
    pthread_mutex_lock(&p->lock);
    status result =
        p->has_letters ? OK : letters_open(&p->letters, spm_target(p->spm), err);
    if (!p->has_letters)
        THEN(result, letters_index(&p->letters, err));
    if (result != OK)
        letters_close(&p->letters);
    p->has_letters = result == OK;
    pthread_mutex_unlock(&p->lock);
    *letters = &p->letters;
    return result;
}

static struct pieces_idle *idle_of(struct pieces *p, enum pieces_side side)
{
    return &p->idle[spm_target(p->spm) == p->spm ? PIECES_SOURCE : side];
}

status pieces_take_encoder(struct pieces *p, enum pieces_side side, struct encoder **e,
                           struct err *err)
{
    struct pieces_idle *idle = idle_of(p, side);
    const struct spm *spm = side == PIECES_SOURCE ? p->spm : spm_target(p->spm);

    pthread_mutex_lock(&p->lock);
    *e = idle->n ? idle->encoder[--idle->n] : NULL;
    pthread_mutex_unlock(&p->lock);
    return *e ? OK : encoder_new(e, spm, p->cache_bytes, err);
}

void pieces_give_back(struct pieces *p, enum pieces_side side, struct encoder *e)
{
    struct pieces_idle *idle = idle_of(p, side);
    struct err err;

    if (!e)
        return;
    pthread_mutex_lock(&p->lock);
    const bool has_room = mem_grow(&idle->encoder, &idle->cap, idle->n + 1,
                                   sizeof(struct encoder *), &err) == OK;
    if (has_room)
        idle->encoder[idle->n++] = e;
    pthread_mutex_unlock(&p->lock);
    if (!has_room)
        encoder_free(e);
}
