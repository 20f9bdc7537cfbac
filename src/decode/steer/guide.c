#include "decode/steer/guide.h"

#include "base/mem.h"

void guide_begin(const struct guide *g, struct guide_state *s)
{
    (void)g;
    *s = (struct guide_state){.is_after_given = true};
    phrases_begin(&s->forbidden);
    next_begin(&s->next);
}

/* Does a forbidden phrase end before the letter `next`? */
static bool has_forbidden(const struct guide *g, const struct guide_state *s,
                          uint32_t next)
{
    return g->forbidden && !s->is_after_given &&
           phrases_found(g->forbidden, &s->forbidden, next);
}

/* Does one end here, whatever follows? */
static bool is_forbidden(const struct guide *g, const struct guide_state *s)
{
    return !letters_is_word(s->forbidden.last) && has_forbidden(g, s, ' ');
}

/* The next letter; false when it must not come. */
static bool read_letter(const struct guide *g, struct guide_state *s, uint32_t code,
                        bool is_given)
{
    const uint32_t last = s->last;
    bool may_come = !has_forbidden(g, s, code);

    if (g->forbidden)
        phrases_read(g->forbidden, &s->forbidden, code);
    for (size_t i = 0; i < g->n_required; i++)
        s->required[i] = required_read(g->required[i], s->required[i], last, code);
    s->last = code;
    s->is_after_given = is_given;
    if (!is_given && s->n_spelled < g->rest.n) {
        may_come &= code == g->rest.code[s->n_spelled++];
        s->is_after_given = true;
    }
    if (g->refused.n && !s->is_after_given)
        may_come &= next_read(&g->refused, &s->next, last, code);
    return may_come && !is_forbidden(g, s);
}

bool guide_read(const struct guide *g, struct guide_state *s, int32_t id)
{
    const struct letters_text piece = letters_of(g->letters, id);
    const bool is_given = s->n_read++ < g->n_prefix;
    bool may_come = piece.n || s->n_spelled == g->rest.n; /* else it does not spell */

    for (size_t i = 0; i < piece.n; i++)
        may_come &= read_letter(g, s, piece.code[i], is_given);
    return is_given || may_come;
}

/* Is the next word one that is refused, if it has ended here? */
static bool has_refused(const struct guide *g, const struct guide_state *s)
{
    return g->refused.n && s->next.stage != NEXT_OVER &&
           next_is_refused(&g->refused, &s->next);
}

bool guide_is_pending(const struct guide *g, const struct guide_state *s)
{
    return has_forbidden(g, s, ' ') || (s->next.stage == NEXT_WORD && has_refused(g, s));
}

static bool is_met(const struct guide *g, const struct guide_state *s)
{
    for (size_t i = 0; i < g->n_required; i++)
        if (!required_is_said(g->required[i], s->required[i]))
            return false;
    return true;
}

bool guide_may_end(const struct guide *g, const struct guide_state *s)
{
    const bool is_blank = g->rest.n == 1 && g->rest.code[0] == ' ';

    return is_met(g, s) && s->n_read >= g->n_prefix &&
           (s->n_spelled == g->rest.n || is_blank) && !has_forbidden(g, s, ' ') &&
           !has_refused(g, s);
}

size_t guide_length(const struct guide *g, const int32_t *token, size_t n)
{
    struct guide_state s;
    size_t length = 0;

    guide_begin(g, &s);
    for (size_t i = 0; i < n; i++) {
        guide_read(g, &s, token[i]);
        if (!guide_is_pending(g, &s))
            length = i + 1;
    }
    return length;
}

status guide_next_word(const struct guide *g, const int32_t *token, size_t n,
                       uint32_t **code, size_t *n_codes, size_t *cap, struct err *err)
{
    const struct next_refused none = {0};
    struct next_state s;
    uint32_t last = ' ';
    size_t n_spelled = 0;

    next_begin(&s);
    for (size_t i = 0; i < n && s.stage != NEXT_OVER; i++) {
        const struct letters_text piece = letters_of(g->letters, token[i]);
        TRY(mem_grow(code, cap, *n_codes + piece.n, sizeof **code, err));
        for (size_t k = 0; k < piece.n; last = piece.code[k++]) {
            const uint32_t n_before = s.n;
            if (i < g->n_prefix || n_spelled++ < g->rest.n)
                continue;
            next_read(&none, &s, last, piece.code[k]);
            if (s.n > n_before)
                (*code)[(*n_codes)++] = piece.code[k];
        }
    }
    return OK;
}

/* ---- required phrases ---- */

bool guide_is_met(const struct guide *g, const int32_t *token, size_t n)
{
    struct guide_state s;

    guide_begin(g, &s);
    for (size_t i = 0; i < n; i++)
        if (token[i] != ID_EOS)
            guide_read(g, &s, token[i]);
    return is_met(g, &s);
}

size_t guide_tokens(const struct guide *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_required; i++)
        n += g->required[i]->n_tokens;
    return n;
}

size_t guide_longest(const struct guide *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_required; i++)
        n = g->required[i]->n_tokens > n ? g->required[i]->n_tokens : n;
    return n;
}

/*
 * There are two ways on: behind the word, which leaves phrases that end here said, or
 * with letters that make the word longer, which does not. The first is barred where a
 * forbidden phrase would end here too. Only one phrase can be gone on with.
 */
size_t guide_progress(const struct guide *g, const struct guide_state *s)
{
    size_t n_said = 0, n_ended = 0;      /* tokens: for good; if the word ends */
    size_t far_behind = 0, farthest = 0; /* behind the word; anyhow */

    for (size_t i = 0; i < g->n_required; i++) {
        const struct required *r = g->required[i];
        const uint16_t k = s->required[i];
        const size_t progress = required_progress(r, k, s->last);
        if (k == REQUIRED_MET) {
            n_said += progress;
        } else if (k == r->n) {
            n_ended += progress;
        } else {
            farthest = progress > farthest ? progress : farthest;
            if (progress && letters_is_border(s->last, r->code[k]))
                far_behind = progress > far_behind ? progress : far_behind;
        }
    }
    const size_t behind = guide_is_pending(g, s) ? 0 : n_ended + far_behind;
    return n_said + (behind > farthest ? behind : farthest);
}

static size_t add_wanted(int32_t *list, size_t n, int32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == id)
            return n;
    if (id >= 0)
        list[n++] = id;
    return n;
}

/* Behind a blank or an opening mark a word has no blank before it. */
size_t guide_wanted(const struct guide *g, const struct guide_state *s,
                    int32_t id[GUIDE_WANTED])
{
    const bool is_bare = s->last && !letters_is_word(s->last);
    size_t n = 0;

    if (s->n_read < 1 || s->n_read < g->n_prefix || guide_is_spelling(g, s))
        return 0;
    for (size_t i = 0; i < g->n_required; i++) {
        const struct required *r = g->required[i];
        const uint16_t k = s->required[i];
        if (required_is_said(r, k))
            continue;
        if (k > 0)
            n = add_wanted(id, n, r->next[k]);
        else if (is_bare)
            n = add_wanted(id, n, r->bare);
        if (!r->is_apart || s->last != ' ')
            n = add_wanted(id, n, r->next[0]);
    }
    return n;
}
