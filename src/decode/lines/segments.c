#include "decode/lines/segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/subword/encoder.h"
#include "text/unicode.h"

void segments_release(struct segments *s)
{
    free(s->line);
    free(s->segment);
    spm_ids_release(&s->ids);
    str_release(&s->mended);
    sentences_release(&s->sentences);
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

/* A line becomes what stands before its tab, and the rest is given. */
static status part_given(struct segments_line *line, struct err *err)
{
    const struct line text = line->text;
    const char *tab = text.n_bytes ? memchr(text.text, '\t', text.n_bytes) : NULL;

    if (!tab)
        return OK;
    line->text.n_bytes = (size_t)(tab - text.text);
    line->given = (struct line){tab + 1, text.n_bytes - line->text.n_bytes - 1};
    if (line->given.n_bytes && memchr(line->given.text, '\t', line->given.n_bytes))
        return err_set(err, ERR_FORMAT,
                       "there are two tabs; want the source, a tab and the beginning of "
                       "the translation");
    return OK;
}

/* One call of segments_make at its line i. */
struct maker {
    struct segments *s;
    struct encoder *encoder;
    const struct segments_options *o;
    size_t i;
    int32_t mark; /* of the line; -1: none */
};

/* S, the line's mark and the text's pieces behind all ids. */
static status encode(const struct maker *m, struct line text, struct err *err)
{
    TRY(spm_ids_add(&m->s->ids, ID_BOS, err));
    if (m->mark >= 0)
        TRY(spm_ids_add(&m->s->ids, m->mark, err));
    return encoder_encode(m->encoder, text, &m->s->ids, err);
}

/* A segment of the ids from `at` on: S and at most max_length - 2 pieces, then EOS. */
static status add(const struct maker *m, struct line text, size_t at, struct err *err)
{
    struct segments *s = m->s;
    struct segments_line *line = &s->line[m->i];
    const size_t max = m->o->max_length - 1;

    TRY(mem_grow(&s->segment, &s->cap, s->n + 1, sizeof *s->segment, err));
    if (s->ids.n - at > max) {
        s->ids.n = at + max;
        line->is_cut = true;
    }
    if (s->ids.n - at > 1)
        TRY(spm_ids_add(&s->ids, ID_EOS, err));
    else
        s->ids.n = at;
    line->n++;
    s->segment[s->n++] =
        (struct segment){.line = m->i, .text = text, .at = at, .n = s->ids.n - at};
    return OK;
}

/* The first part of a long text, of at most so many bytes and if possible not too many
 * ids, as a segment; *text becomes the rest. */
static status add_part(const struct maker *m, struct line *text, size_t at_most,
                       struct err *err)
{
    const size_t at = m->s->ids.n;
    struct line part = {text->text, 0};

    for (size_t before = SIZE_MAX;; before = part.n_bytes) {
        part.n_bytes = sentences_clause(text->text, text->n_bytes, at_most);
        m->s->ids.n = at;
        TRY(encode(m, part, err));
        if (m->s->ids.n - at < m->o->max_length || part.n_bytes == before)
            break; /* it fits, or is one character */
        at_most = part.n_bytes / 8 * 7;
    }
    TRY(add(m, part, at, err));
    text->text += part.n_bytes;
    text->n_bytes -= part.n_bytes;
    for (size_t len; text->n_bytes; text->text += len, text->n_bytes -= len)
        if (!utf8_is_space(utf8_decode(text->text, text->n_bytes, &len)))
            break;
    return OK;
}

/* Does the cut between a part and the rest tear a word? Where words have no blanks
 * between them there is none to tear. */
static bool tears_word(struct line part, struct line rest)
{
    size_t len;

    return rest.n_bytes && part.text + part.n_bytes == rest.text &&
           !unicode_is_unspaced(utf8_decode_last(part.text, part.n_bytes, &len)) &&
           !unicode_is_unspaced(utf8_decode(rest.text, rest.n_bytes, &len));
}

static status add_sentence(const struct maker *m, struct line text, struct err *err)
{
    struct spm_ids *ids = &m->s->ids;
    const size_t at = ids->n, n_bytes = text.n_bytes;

    TRY(encode(m, text, err));
    const size_t n = ids->n - at;
    if (!m->o->splits || m->o->has_given || n < m->o->max_length)
        return add(m, text, at, err);
    ids->n = at;
    m->s->line[m->i].is_divided = true;
    const size_t at_most =
        (size_t)((double)n_bytes * (double)m->o->max_length / (double)n);
    for (bool is_torn = false; text.n_bytes;) {
        TRY(add_part(m, &text, at_most, err));
        struct segment *part = &m->s->segment[m->s->n - 1];
        part->is_torn = is_torn;
        is_torn = tears_word(part->text, text);
    }
    return OK;
}

static int32_t part_mark(struct segments_line *line, const struct segments_options *o)
{
    const int32_t mark = o->spm ? spm_mark(o->spm, line->text, &line->n_mark) : -1;

    line->text.text += line->n_mark;
    line->text.n_bytes -= line->n_mark;
    return mark < 0 && o->mark ? o->mark : mark;
}

static status add_line(struct maker *m, struct err *err)
{
    struct sentences *found = &m->s->sentences;

    if (m->o->has_given)
        TRY(part_given(&m->s->line[m->i], err));
    m->mark = part_mark(&m->s->line[m->i], m->o);
    const struct line text = m->s->line[m->i].text;
    if (!segments_is_visible(text))
        return OK;
    if (!m->o->splits || m->o->has_given)
        return add_sentence(m, text, err);
    found->n = 0;
    TRY(sentences_split(found, text.text, text.n_bytes, m->o->lang, err));
    for (size_t k = 0; k < found->n; k++) {
        const struct sentences_span *span = &found->span[k];
        TRY(add_sentence(m, (struct line){text.text + span->at, span->n_bytes}, err));
    }
    return OK;
}

status segments_make(struct segments *s, struct encoder *encoder,
                     const struct line *lines, size_t n, const struct segments_options *o,
                     struct err *err)
{
    struct maker m = {s, encoder, o, 0, -1};

    TRY(take_lines(s, lines, n, o, err));
    for (; m.i < n; m.i++) {
        s->line[m.i].first = s->n;
        if (add_line(&m, err) != OK)
            return err_wrap(err, "line %llu",
                            (unsigned long long)(o->n_lines_before + m.i + 1));
    }
    return OK;
}
