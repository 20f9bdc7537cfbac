#include "decode/segments.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/subword/encoder.h"

void segments_release(struct segments *s)
{
    free(s->line);
    free(s->segment);
    spm_ids_release(&s->ids);
    str_release(&s->mended);
    *s = (struct segments){0};
}

bool segments_is_visible(struct line text)
{
    for (size_t at = 0, len; at < text.n_bytes; at += len)
        if (!utf8_is_space(utf8_decode(text.text + at, text.n_bytes - at, &len)))
            return true;
    return false;
}

/* The lines as UTF-8. */
static status take_lines(struct segments *s, const struct line *lines, size_t n,
                         const struct segments_options *o, struct err *err)
{
    size_t at = 0;

    s->mended = str_new(SIZE_MAX / 2);
    TRY(mem_alloc(&s->line, n, sizeof *s->line, err));
    s->n_lines = n;
    for (size_t i = 0; i < n; i++) {
        struct segments_line *line = &s->line[i];
        const size_t before = s->mended.len;
        *line = (struct segments_line){.text = lines[i]};
        if (utf8_valid(lines[i].text, lines[i].n_bytes))
            continue;
        if (o->refuses_invalid)
            return err_set(err, ERR_FORMAT, "line %llu is not valid UTF-8",
                           (unsigned long long)(o->n_lines_before + i + 1));
        utf8_mend(&s->mended, lines[i].text, lines[i].n_bytes);
        line->text.n_bytes = s->mended.len - before;
        line->is_invalid = true;
    }
    TRY(str_check(&s->mended, "the text to translate", err));
    for (size_t i = 0; i < n; i++)
        if (s->line[i].is_invalid) {
            s->line[i].text.text = s->mended.data + at;
            at += s->line[i].text.n_bytes;
        }
    return OK;
}

static status push(struct spm_ids *ids, int32_t id, struct err *err)
{
    TRY(mem_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id, err));
    ids->id[ids->n++] = id;
    return OK;
}

/* A text of line i: S, the first max_length - 2 pieces, EOS. */
static status add(struct segments *s, struct encoder *encoder, size_t i, struct line text,
                  size_t max_length, struct err *err)
{
    struct spm_ids *ids = &s->ids;
    struct segments_line *line = &s->line[i];
    const size_t at = ids->n;

    TRY(mem_grow(&s->segment, &s->cap, s->n + 1, sizeof *s->segment, err));
    TRY(push(ids, ID_BOS, err));
    TRY(encoder_encode(encoder, text, ids, err));
    if (ids->n - at > max_length - 1) {
        ids->n = at + max_length - 1;
        line->is_cut = true;
    }
    const size_t n_pieces = ids->n - at - 1;
    if (n_pieces)
        TRY(push(ids, ID_EOS, err));
    else
        ids->n = at;
    line->n_pieces += n_pieces;
    line->n++;
    s->segment[s->n++] = (struct segment){i, text, at, ids->n - at};
    return OK;
}

status segments_make(struct segments *s, struct encoder *encoder,
                     const struct line *lines, size_t n, const struct segments_options *o,
                     struct err *err)
{
    TRY(take_lines(s, lines, n, o, err));
    for (size_t i = 0; i < n; i++) {
        struct segments_line *line = &s->line[i];
        line->first = s->n;
        if (segments_is_visible(line->text) &&
            add(s, encoder, i, line->text, o->max_length, err) != OK)
            return err_wrap(err, "line %llu",
                            (unsigned long long)(o->n_lines_before + i + 1));
    }
    return OK;
}
