/*
 * The rules are a Darts double array: uint32 size of the trie, the trie, then the strings
 * that it leads to, NUL-terminated. Bit 31 of a unit marks a value; otherwise bits 0..7
 * are the label that leads here, bit 8 says that a value stands at the base, bit 9 that
 * the offset in bits 10.. is shifted by 8. The base of unit i is i ^ offset; from there
 * byte c leads to base ^ c if the label of that unit is c. The walk starts at unit 0,
 * whatever it is.
 */
#include "text/subword/normalizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { BLOCK = 256, LEAF = 1 << 8, SHIFTED = 1 << 9 };
#define VALUE (1u << 31)

enum {
    MAX_MATCHES = 32, /* rules at one place; SentencePiece does not count them */
    MAX_TRIE_BYTES =
        4 << 20 /* twenty times the largest that SentencePiece brings along */
};

static const char replacement[] = "\xEF\xBF\xBD", space_mark[] = "\xE2\x96\x81";

static uint32_t unit_at(const struct normalizer *n, size_t i)
{
    uint32_t unit;

    memcpy(&unit, n->units.text + 4 * i, sizeof unit);
    return unit;
}

/* Where the children of the unit stand that is found at i. */
static size_t base_of(uint32_t unit, size_t i)
{
    return i ^ (size_t)(unit >> 10) << (unit & SHIFTED ? 8 : 0);
}

static size_t root_of(const struct normalizer *n)
{
    return base_of(unit_at(n, 0), 0);
}

/* One step down from `base` by byte c; false where no rule goes on. */
static bool step(const struct normalizer *n, size_t *base, unsigned char c,
                 bool *has_value)
{
    const size_t at = *base ^ c;
    const uint32_t unit = unit_at(n, at);

    if ((unit & (VALUE | (BLOCK - 1))) != c)
        return false;
    *base = base_of(unit, at);
    *has_value = unit & LEAF;
    return true;
}

/* The longest rule for the start of `in`: bytes matched, 0 for none, and what it gives.
 */
static size_t longest_rule(const struct normalizer *n, struct line in, struct line *gives)
{
    size_t base, length = 0, value = 0;
    bool has_value;

    if (!n->units.n_bytes)
        return 0;
    base = root_of(n);
    for (size_t i = 0; i < in.n_bytes; i++) {
        if (!step(n, &base, (unsigned char)in.text[i], &has_value))
            break;
        if (has_value) {
            length = i + 1;
            value = unit_at(n, base) & ~VALUE;
        }
    }
    if (length) {
        const char *text = n->text.text + value;
        *gives = (struct line){text, strlen(text)};
    }
    return length;
}

/* What stands for the start of `in`; returns how many bytes of it that is. */
static size_t take_prefix(const struct normalizer *n, struct line in, struct line *gives)
{
    size_t length = longest_rule(n, in, gives);

    if (length)
        return length;
    if (utf8_decode(in.text, in.n_bytes, &length) == UTF8_BAD)
        *gives = (struct line){replacement, sizeof replacement - 1};
    else
        *gives = (struct line){in.text, length};
    return length;
}

/* Bytes at the start of `in` that stand for themselves. */
static size_t letters(const struct normalizer *n, struct line in)
{
    size_t i = 0;

    while (i < in.n_bytes && n->is_letter[(unsigned char)in.text[i]])
        i++;
    if (i && i < in.n_bytes && (unsigned char)in.text[i] >= 0x80)
        i--; /* a rule may begin here */
    return i;
}

/* White space at its ends has been dealt with; marks become blanks, the last ones go. */
static void trim(struct str *out, size_t start)
{
    char *text = out->data + start, *to = text, *end = out->data + out->len;

    if (out->bad)
        return;
    if (memmem(text, (size_t)(end - text), space_mark, 3)) {
        for (char *from = text; from < end;) {
            const bool is_mark = end - from >= 3 && memcmp(from, space_mark, 3) == 0;
            *to++ = is_mark ? ' ' : *from;
            from += is_mark ? 3 : 1;
        }
        end = to;
    }
    while (end > text && end[-1] == ' ')
        end--;
    out->len = (size_t)(end - out->data);
    out->data[out->len] = '\0';
}

/* Add what a rule gives, without the blanks that follow a blank. */
static void add_squeezed(struct str *out, struct line gives, bool *is_after_space)
{
    while (*is_after_space && gives.n_bytes && gives.text[0] == ' ') {
        gives.text++;
        gives.n_bytes--;
    }
    if (gives.n_bytes == 0)
        return;
    str_add(out, gives.text, gives.n_bytes);
    *is_after_space = gives.text[gives.n_bytes - 1] == ' ';
}

void normalizer_line(const struct normalizer *n, struct line in, struct str *out)
{
    const size_t start = out->len;
    bool is_after_space = true;

    if (in.n_bytes == 0)
        return;
    str_putc(out, ' ');
    while (in.n_bytes) {
        struct line gives;
        size_t used = letters(n, in);
        if (used) {
            str_add(out, in.text, used);
            is_after_space = false;
        } else {
            used = take_prefix(n, in, &gives);
            add_squeezed(out, gives, &is_after_space);
        }
        in.text += used;
        in.n_bytes -= used;
    }
    trim(out, start);
}

/* A mark at the end of a token vanishes at the end of a line and nowhere else. */
bool normalizer_has_tokens(const struct normalizer *n, struct line in)
{
    if (!n->is_plain || memmem(in.text, in.n_bytes, space_mark, 3))
        return false;
    for (size_t i = 0; i < in.n_bytes; i++)
        if ((i == 0 || in.text[i - 1] == ' ') &&
            n->binds_space[(unsigned char)in.text[i]])
            return false;
    return true;
}

bool normalizer_token(const struct normalizer *n, struct line token, struct str *out)
{
    if (!normalizer_has_tokens(n, token))
        return false;
    normalizer_line(n, token, out);
    return true;
}

/* Whether byte c, followed by ASCII, stands for itself. */
static bool is_untouched(const struct normalizer *n, unsigned char c)
{
    size_t base;
    bool has_value;

    if (!n->units.n_bytes)
        return true;
    base = root_of(n);
    if (!step(n, &base, c, &has_value))
        return true;
    for (unsigned char next = 0; next < 0x80; next++) {
        size_t below = base;
        bool ignored;
        if (step(n, &below, next, &ignored))
            return false;
    }
    return !has_value;
}

/*
 * Every base lies in the array, and so does its block, of which the array has whole ones;
 * every value points into the strings.
 */
static bool stays_inside(const struct normalizer *n)
{
    for (size_t i = 0; i < n->units.n_bytes / 4; i++) {
        const uint32_t unit = unit_at(n, i);
        const size_t base = base_of(unit, i);
        if ((unit & VALUE) && i > 0)
            continue;
        if (base >= n->units.n_bytes / 4)
            return false;
        if ((unit & LEAF) && (unit_at(n, base) & ~VALUE) >= n->text.n_bytes)
            return false;
    }
    return true;
}

/* Bases still to be looked at, and 1 + the most matches on a way to each (0: no way). */
struct walk {
    unsigned char *best;
    bool *is_waiting;
    uint32_t *stack;
    size_t n_waiting;
    bool is_crowded; /* a way meets more than MAX_MATCHES values */
    bool has_blank;  /* a rule has a blank that is not its first byte */
};

static void visit(struct walk *w, size_t base, unsigned best)
{
    w->best[base] = (unsigned char)best;
    if (!w->is_waiting[base])
        w->stack[w->n_waiting++] = (uint32_t)base;
    w->is_waiting[base] = true;
}

/* A base is looked at again only when a way with more matches leads there, so that a trie
 * with loops ends too. */
static void walk_rules(const struct normalizer *n, struct walk *w)
{
    const size_t root = root_of(n);

    visit(w, root, 1);
    while (w->n_waiting && !w->is_crowded) {
        const size_t base = w->stack[--w->n_waiting];
        w->is_waiting[base] = false;
        for (unsigned c = 0; c < BLOCK && !w->is_crowded; c++) {
            size_t next = base;
            bool has_value;
            if (!step(n, &next, (unsigned char)c, &has_value))
                continue;
            const unsigned best = w->best[base] + has_value;
            w->has_blank |= c == ' ' && base != root;
            w->is_crowded = best > 1 + MAX_MATCHES;
            if (best > w->best[next])
                visit(w, next, best);
        }
    }
}

static void walk_release(struct walk *w)
{
    free(w->best);
    free(w->is_waiting);
    free(w->stack);
}

/* What walking every way through the rules finds out. */
static status look_at_rules(const struct normalizer *n, bool *is_crowded, bool *has_blank,
                            struct err *err)
{
    const size_t n_units = n->units.n_bytes / 4;
    RELEASED_BY(walk_release) struct walk w = {0};

    TRY(mem_alloc(&w.best, n_units, sizeof *w.best, err));
    TRY(mem_alloc(&w.is_waiting, n_units, sizeof *w.is_waiting, err));
    TRY(mem_alloc(&w.stack, n_units, sizeof *w.stack, err));
    walk_rules(n, &w);
    *is_crowded = w.is_crowded;
    *has_blank = w.has_blank;
    return OK;
}

/* The trie and the strings of some rules; false when they cannot be. */
static bool find_parts(struct normalizer *n, struct line charsmap)
{
    uint32_t n_bytes;

    if (charsmap.n_bytes < sizeof n_bytes)
        return false;
    memcpy(&n_bytes, charsmap.text, sizeof n_bytes);
    const size_t n_rest = charsmap.n_bytes - sizeof n_bytes;
    if (n_bytes == 0 || n_bytes % (BLOCK * 4) != 0 || n_bytes > MAX_TRIE_BYTES ||
        n_bytes >= n_rest || charsmap.text[charsmap.n_bytes - 1] != '\0')
        return false;
    n->units = (struct line){charsmap.text + sizeof n_bytes, n_bytes};
    n->text = (struct line){n->units.text + n_bytes, n_rest - n_bytes};
    return true;
}

status normalizer_guard(struct line charsmap, bool *is_safe, struct err *err)
{
    struct normalizer n = {0};
    bool is_crowded, has_blank;

    *is_safe = charsmap.n_bytes == 0;
    if (!find_parts(&n, charsmap) || !stays_inside(&n))
        return OK;
    TRY(look_at_rules(&n, &is_crowded, &has_blank, err));
    *is_safe = !is_crowded;
    return OK;
}

/* The bytes that a rule may join to a blank before them; false if ASCII is among them. */
static bool find_binding(struct normalizer *n)
{
    size_t base = root_of(n);
    bool has_value;
    const struct line blank = {" ", 1};
    struct line gives = blank;

    longest_rule(n, blank, &gives);
    if (!step(n, &base, ' ', &has_value))
        return true;
    for (unsigned c = 0; c < 256; c++) {
        size_t below = base;
        n->binds_space[c] = step(n, &below, (unsigned char)c, &has_value);
        if (n->binds_space[c] && c < 0x80)
            return false;
    }
    return gives.n_bytes == 1 && gives.text[0] == ' ';
}

/* Words are words: what the rules give is UTF-8 and makes no space marks. */
static bool gives_words(struct line text)
{
    return utf8_valid(text.text, text.n_bytes) &&
           !memmem(text.text, text.n_bytes, space_mark, 3);
}

status normalizer_init(struct normalizer *n, struct line charsmap, struct err *err)
{
    bool is_crowded, has_blank;

    *n = (struct normalizer){.is_plain = true};
    if (charsmap.n_bytes) {
        BUG_ON(!find_parts(n, charsmap)); /* the guard has looked */
        TRY(look_at_rules(n, &is_crowded, &has_blank, err));
        n->is_plain = find_binding(n) && !has_blank && gives_words(n->text);
    }
    for (int c = '!'; c <= '~'; c++)
        n->is_letter[c] = is_untouched(n, (unsigned char)c);
    return OK;
}
