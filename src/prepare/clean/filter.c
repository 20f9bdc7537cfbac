#include "prepare/clean/filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "corpus/checksum.h"
#include "text/line_reader.h"

static const struct {
    const char *name, *why;
} reasons[N_FILTER] = {
#define V(code, name, why) {name, why},
    CLEAN_LIST(V) FILTER_LIST(V)
#undef V
};

const char *filter_name(int reason)
{
    return reasons[reason].name;
}

const char *filter_why(int reason)
{
    return reasons[reason].why;
}

void filter_init(struct filter *f, struct filter_options options, bool is_factored)
{
    *f = (struct filter){.options = options};
    clean_init(&f->clean, options.clean);
    f->clean.is_started = true;
    f->clean.is_factored = is_factored;
}

void filter_release(struct filter *f)
{
    clean_release(&f->clean);
    str_release(&f->room[0]);
    str_release(&f->room[1]);
    str_release(&f->spare);
}

static bool has_control(struct line in)
{
    size_t len;

    for (size_t i = 0; i < in.n_bytes; i += len)
        if (unicode_is_control(utf8_decode(in.text + i, in.n_bytes - i, &len)))
            return true;
    return false;
}

/* Malformed bytes replaced, control characters taken out, as the options say. */
static void repair(const struct filter_options *o, struct str *out, struct line in)
{
    size_t len;

    for (size_t i = 0; i < in.n_bytes; i += len) {
        const uint32_t code = utf8_decode(in.text + i, in.n_bytes - i, &len);
        if (code == UTF8_BAD && o->invalid == FILTER_INVALID_REPLACE)
            str_puts(out, "\xEF\xBF\xBD");
        else if (o->control != FILTER_CONTROL_STRIP || !unicode_is_control(code))
            str_add(out, in.text + i, len);
    }
}

/* The line as the rules see it; it may be the one given. */
static status order(struct filter *f, struct str *room, struct line *line,
                    struct err *err)
{
    const struct filter_options *o = &f->options;

    if (o->invalid == FILTER_INVALID_REPLACE || o->control == FILTER_CONTROL_STRIP) {
        str_reset(room);
        repair(o, room, *line);
        TRY(str_check(room, "a line", err));
        *line = (struct line){str_text(room), room->len};
    }
    if (!o->nfc)
        return OK;
    str_reset(&f->spare);
    TRY(unicode_nfc(&f->spare, *line, err));
    TRY(str_check(&f->spare, "a line", err));
    const struct str made = f->spare;
    f->spare = *room;
    *room = made;
    *line = (struct line){str_text(room), room->len};
    return OK;
}

/* A side is foreign from three words on whose mean log odds pass this. */
#define FOREIGN_ODDS 1.0
enum { FOREIGN_WORDS = 3 };

status filter_profile_open(struct filter_profile *p, struct err *err)
{
    *p = (struct filter_profile){0};
    TRY(mem_alloc(&p->count[0], FILTER_PROFILE_SLOTS, 2 * sizeof *p->count[0], err));
    p->count[1] = p->count[0] + FILTER_PROFILE_SLOTS;
    return OK;
}

void filter_profile_close(struct filter_profile *p)
{
    free(p->count[0]); /* and with it the other */
    *p = (struct filter_profile){0};
}

/* The slot of the next word of a line; false at its end. */
static bool next_slot(struct line text, size_t *at, size_t *slot)
{
    size_t from, len = 1;

    while (*at < text.n_bytes &&
           utf8_is_space(utf8_decode(text.text + *at, text.n_bytes - *at, &len)))
        *at += len;
    for (from = *at; *at < text.n_bytes; *at += len)
        if (utf8_is_space(utf8_decode(text.text + *at, text.n_bytes - *at, &len)))
            break;
    *slot = checksum_of(text.text + from, *at - from) % FILTER_PROFILE_SLOTS;
    return *at > from;
}

void filter_profile_add(struct filter_profile *p, struct line text, int side)
{
    size_t at = 0, slot;

    while (next_slot(text, &at, &slot)) {
        p->count[side][slot] += p->count[side][slot] < UINT32_MAX;
        p->n_words[side]++;
    }
}

static double log_share(const struct filter_profile *p, int side, size_t slot)
{
    return log(((double)p->count[side][slot] + 0.5) /
               ((double)p->n_words[side] + 0.5 * FILTER_PROFILE_SLOTS));
}

static bool is_foreign(const struct filter_profile *p, struct line text, int side)
{
    size_t at = 0, slot, n = 0;
    double odds = 0;

    for (; next_slot(text, &at, &slot); n++)
        odds += log_share(p, !side, slot) - log_share(p, side, slot);
    return n >= FOREIGN_WORDS && odds > FOREIGN_ODDS * (double)n;
}

static bool is_other_script(struct line in, enum unicode_script script)
{
    size_t n_letters = 0, n_of = 0, len;

    for (size_t i = 0; i < in.n_bytes; i += len) {
        const uint32_t code = utf8_decode(in.text + i, in.n_bytes - i, &len);
        if (!unicode_is_letter(code))
            continue;
        n_letters++;
        n_of += unicode_is_of(code, script);
    }
    return 2 * n_of < n_letters;
}

static struct line cleaned(const struct filter *f, int s)
{
    return (struct line){str_text(&f->clean.side[s]), f->clean.side[s].len};
}

/* Our own rules about a pair that passed those of Moses. */
static int judge(const struct filter *f)
{
    const struct filter_options *o = &f->options;
    const struct line side[2] = {cleaned(f, 0), cleaned(f, 1)};

    for (int s = 0; s < 2 && (o->min_chars || o->max_chars); s++) {
        const size_t n = utf8_count(side[s].text, side[s].n_bytes);
        if (n < o->min_chars)
            return FILTER_CHARS_FEW;
        if (o->max_chars && n > o->max_chars)
            return FILTER_CHARS_MANY;
    }
    if (o->drop_identical && side[0].n_bytes == side[1].n_bytes &&
        memcmp(side[0].text, side[1].text, side[0].n_bytes) == 0)
        return FILTER_IDENTICAL;
    for (int s = 0; s < 2; s++)
        if (o->script[s] != UNICODE_ANY && is_other_script(side[s], o->script[s]))
            return FILTER_SCRIPT;
    for (int s = 0; s < 2 && o->profile; s++)
        if (is_foreign(o->profile, side[s], s))
            return FILTER_LANGUAGE;
    return CLEAN_KEEP;
}

status filter_pair(struct filter *f, const struct line side[2], bool is_cut, int *reason,
                   struct err *err)
{
    struct line line[2] = {side[0], side[1]};
    enum clean_verdict verdict;

    TRY(order(f, &f->room[0], &line[0], err));
    TRY(order(f, &f->room[1], &line[1], err));
    TRY(clean_pair(&f->clean, line[0], line[1], &verdict, err));
    if (is_cut || f->clean.side[0].len > LINE_READER_MAX ||
        f->clean.side[1].len > LINE_READER_MAX)
        *reason = FILTER_CUT;
    else if (verdict != CLEAN_KEEP)
        *reason = (int)verdict;
    else if (f->options.control == FILTER_CONTROL_DROP &&
             (has_control(cleaned(f, 0)) || has_control(cleaned(f, 1))))
        *reason = FILTER_CONTROL;
    else
        *reason = judge(f);
    return OK;
}

status filter_line(struct filter *f, int s, struct line in, struct line *out,
                   struct err *err)
{
    struct str *side = &f->clean.side[s];

    TRY(order(f, &f->room[s], &in, err));
    str_reset(side);
    (void)clean_line(side, in, f->clean.is_factored);
    TRY(str_check(side, "a line", err));
    *out = cleaned(f, s);
    return OK;
}

void filter_core(struct str *out, struct line in)
{
    const size_t start = out->len;
    char bytes[4];
    size_t len;

    for (size_t i = 0; i < in.n_bytes; i += len) {
        const uint32_t code = utf8_decode(in.text + i, in.n_bytes - i, &len);
        if (code == UTF8_BAD)
            continue;
        if (unicode_is_letter(code))
            str_add(out, bytes, utf8_encode(bytes, unicode_lower(code)));
        else if (unicode_is_digit(code))
            str_putc(out, '0');
    }
    if (out->len == start)
        str_add(out, in.text, in.n_bytes);
}
