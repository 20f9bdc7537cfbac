#include "text/clean.h"

#include <string.h>

#include "base/utf8.h"

void clean_init(struct clean *c, struct clean_options options)
{
    *c = (struct clean){.options = options};
}

void clean_release(struct clean *c)
{
    str_release(&c->side[0]);
    str_release(&c->side[1]);
}

static bool has_bar(struct line in)
{
    return in.n_bytes && memchr(in.text, '|', in.n_bytes) != NULL;
}

bool clean_is_factored(struct line a, struct line b)
{
    return has_bar(a) || has_bar(b);
}

/* Text between what is taken out is copied in one piece, [from, i). */
bool clean_line(struct str *out, struct line in, bool is_factored)
{
    const size_t start = out->len;
    bool is_valid = true, gap = false;
    size_t from = 0, len;

    for (size_t i = 0; i < in.n_bytes; i += len) {
        const uint32_t code = utf8_decode(in.text + i, in.n_bytes - i, &len);
        const bool is_space = utf8_is_space(code);
        is_valid &= code != UTF8_BAD;
        if (is_space || (code == '|' && !is_factored)) {
            str_add(out, in.text + from, i - from);
            from = i + len;
            gap |= is_space;
        } else if (gap) {
            if (out->len > start)
                str_putc(out, ' ');
            gap = false;
        }
    }
    str_add(out, in.text + from, in.n_bytes - from);
    return is_valid;
}

/* What the rules ask of one cleaned side. */
struct measure {
    size_t n_words;
    size_t longest; /* code points of the longest word, or of the longest factor */
    bool has_blank_factor;
};

static struct measure measure(const struct str *s)
{
    struct measure m = {.n_words = s->len > 0};
    size_t run = 0;

    for (size_t i = 0; i < s->len; i++) {
        const unsigned char c = (unsigned char)s->data[i];
        m.n_words += c == ' ';
        m.has_blank_factor |=
            c == '|' && i > 0 && (s->data[i - 1] == ' ' || s->data[i - 1] == '|');
        if (c == ' ' || c == '|')
            run = 0;
        else
            run += (c & 0xC0) != 0x80; /* continuation bytes count with their first */
        m.longest = run > m.longest ? run : m.longest;
    }
    return m;
}

static enum clean_verdict judge(const struct clean_options *o, struct measure a,
                                struct measure b)
{
    if (a.n_words == 0 || b.n_words == 0)
        return CLEAN_EMPTY;
    if (a.n_words > o->max_words || b.n_words > o->max_words)
        return CLEAN_LONG;
    if (a.n_words < o->min_words || b.n_words < o->min_words)
        return CLEAN_SHORT;
    const double x = (double)a.n_words, y = (double)b.n_words;
    if (x / y > o->max_ratio || y / x > o->max_ratio)
        return CLEAN_RATIO;
    if (a.longest > o->max_word_chars || b.longest > o->max_word_chars)
        return CLEAN_WORD;
    return a.has_blank_factor || b.has_blank_factor ? CLEAN_FACTOR : CLEAN_KEEP;
}

status clean_pair(struct clean *c, struct line a, struct line b,
                  enum clean_verdict *verdict, struct err *err)
{
    if (!c->is_started)
        c->is_factored = clean_is_factored(a, b);
    c->is_started = true;
    str_reset(&c->side[0]);
    str_reset(&c->side[1]);

    const bool a_valid = clean_line(&c->side[0], a, c->is_factored);
    const bool b_valid = clean_line(&c->side[1], b, c->is_factored);
    TRY(str_check(&c->side[0], "a cleaned line", err));
    TRY(str_check(&c->side[1], "a cleaned line", err));
    *verdict = a_valid && b_valid
                   ? judge(&c->options, measure(&c->side[0]), measure(&c->side[1]))
                   : CLEAN_ENCODING;
    return OK;
}
