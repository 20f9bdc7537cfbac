#include "decode/steer/next.h"

bool next_is_refused(const struct next_refused *r, const struct next_state *s)
{
    for (size_t i = 0; i < r->n; i++)
        if ((s->same >> i & 1) && r->word[i].n == s->n)
            return true;
    return false;
}

static void add_letter(const struct next_refused *r, struct next_state *s, uint32_t code)
{
    for (size_t i = 0; i < r->n; i++)
        if (s->n >= r->word[i].n || r->word[i].code[s->n] != code)
            s->same &= ~((uint64_t)1 << i);
    s->n++;
}

bool next_read(const struct next_refused *r, struct next_state *s, uint32_t last,
               uint32_t code)
{
    if (s->stage == NEXT_OVER)
        return true;
    if (s->stage == NEXT_WORD && letters_is_border(last, code)) {
        s->stage = NEXT_OVER;
        return !next_is_refused(r, s);
    }
    const bool is_blank = code == ' ' && !s->n;
    add_letter(r, s, code);
    if (is_blank)
        return true;
    s->stage = letters_is_word(code) ? NEXT_WORD : NEXT_OVER;
    return s->stage == NEXT_WORD || !next_is_refused(r, s);
}
