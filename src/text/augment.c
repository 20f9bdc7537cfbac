#include "text/augment.h"

#include <string.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "text/sentence_marks.h"
#include "text/unicode.h"

/* --- what is drawn --- */

static struct rng draws_of(uint64_t key, enum augment_kind kind)
{
    return rng_open(rng_hash(key, (uint64_t)kind));
}

unsigned augment_draw(const struct augment_rates *rates, uint64_t key)
{
    struct rng first = draws_of(key, AUGMENT_upper);
    double of_case = rng_unit(&first);
    unsigned kinds = 0;

    for (int k = AUGMENT_upper; k <= AUGMENT_lower && !kinds; k++) {
        kinds = of_case < rates->of[k] ? 1u << k : 0;
        of_case -= rates->of[k];
    }
    for (int k = AUGMENT_lower + 1; k < AUGMENT_N; k++) {
        struct rng draws = draws_of(key, (enum augment_kind)k);
        if (rng_unit(&draws) < rates->of[k])
            kinds |= 1u << k;
    }
    return kinds;
}

/* --- case --- */

enum { SHARP_S = 0xDF };

/* Append a code point as `kind` has it. */
static void put_cased(struct str *out, uint32_t code, enum augment_kind kind)
{
    char bytes[4];

    if (code == SHARP_S && kind == AUGMENT_upper) {
        str_puts(out, "SS");
        return;
    }
    if (kind == AUGMENT_upper)
        code = unicode_upper(code);
    else if (kind == AUGMENT_title)
        code = unicode_title(code);
    else
        code = unicode_lower(code);
    str_add(out, bytes, utf8_encode(bytes, code));
}

/* Bytes that are no UTF-8 stay. In titles the first letter of a word changes, unless a
 * digit is before it. */
static void change_case(struct str *text, enum augment_kind kind, struct str *spare)
{
    bool is_open = true; /* the word's first letter is still to come */
    size_t n;

    str_reset(spare);
    for (size_t at = 0; at < text->len; at += n) {
        const uint32_t code = utf8_decode(text->data + at, text->len - at, &n);
        const bool is_letter = code != UTF8_BAD && unicode_is_letter(code);
        if (is_letter && (is_open || kind != AUGMENT_title))
            put_cased(spare, code, kind);
        else
            str_add(spare, text->data + at, n);
        is_open = code == ' ' || (is_open && !is_letter && !unicode_is_digit(code));
    }
    const struct str old = *text;
    *text = *spare;
    *spare = old;
}

/* --- typing errors --- */

struct letter {
    size_t at, n; /* bytes */
};

static bool letter_at(const struct str *text, size_t at, struct letter *l)
{
    size_t n;

    if (at >= text->len)
        return false;
    const uint32_t code = utf8_decode(text->data + at, text->len - at, &n);
    *l = (struct letter){at, n};
    return code != UTF8_BAD && unicode_is_letter(code);
}

/* The letter number `index`, or, with SIZE_MAX, how many there are. */
static size_t find_letter(const struct str *text, size_t index, struct letter *l)
{
    size_t n_letters = 0;

    *l = (struct letter){0};
    for (size_t at = 0; at < text->len; at += l->n)
        if (letter_at(text, at, l) && n_letters++ == index)
            break;
    return n_letters;
}

/* Whether the letter has another beside it in its word. */
static bool has_neighbour(const struct str *text, struct letter l)
{
    struct letter other;
    size_t n;

    if (letter_at(text, l.at + l.n, &other))
        return true;
    const uint32_t code = l.at ? utf8_decode_last(text->data, l.at, &n) : UTF8_BAD;
    return code != UTF8_BAD && unicode_is_letter(code);
}

/* Put the text before `at`, `instead`, and the text from `rest` on into *text. */
static void replace(struct str *text, size_t at, const char *instead, size_t n,
                    size_t rest, struct str *spare)
{
    str_reset(spare);
    str_add(spare, text->data, at);
    str_add(spare, instead, n);
    str_add(spare, text->data + rest, text->len - rest);
    const struct str old = *text;
    *text = *spare;
    *spare = old;
}

enum typo { SWAPPED, LEFT_OUT, ANOTHER, DOUBLED, N_TYPOS };

/* One error; what cannot be done to a letter doubles it. */
static void make_typo(struct str *text, struct rng *draws, size_t n_letters,
                      struct str *spare)
{
    const enum typo typo = (enum typo)rng_below(draws, N_TYPOS);
    char made[8];
    struct letter l, other;

    find_letter(text, (size_t)rng_below(draws, n_letters), &l);
    if (typo == SWAPPED && letter_at(text, l.at + l.n, &other)) {
        memcpy(made, text->data + other.at, other.n);
        memcpy(made + other.n, text->data + l.at, l.n);
        replace(text, l.at, made, l.n + other.n, other.at + other.n, spare);
        return;
    }
    if (typo == LEFT_OUT && has_neighbour(text, l)) {
        replace(text, l.at, "", 0, l.at + l.n, spare);
        return;
    }
    other = l;
    if (typo == ANOTHER)
        find_letter(text, (size_t)rng_below(draws, n_letters), &other);
    memcpy(made, text->data + other.at, other.n);
    const bool is_same = other.n == l.n && memcmp(made, text->data + l.at, l.n) == 0;
    replace(text, l.at, made, other.n, is_same ? l.at : l.at + l.n, spare);
}

static void make_typos(struct str *text, struct rng draws, struct str *spare)
{
    enum { LETTERS_A_TYPO = 40 };
    struct letter l;
    const size_t n_letters = find_letter(text, SIZE_MAX, &l);

    (void)rng_unit(&draws); /* decided that there are any */
    for (size_t i = 0; n_letters && i <= n_letters / LETTERS_A_TYPO; i++)
        make_typo(text, &draws, find_letter(text, SIZE_MAX, &l), spare);
}

/* --- end punctuation --- */

/* Bytes without the marks at the end and the blanks before them. */
static size_t without_end(const struct str *text)
{
    static const uint32_t marks[] = {'.',    '!',    '?',    0x2026, 0x3002, 0xFF01,
                                     0xFF1F, 0xFF0E, 0xFF61, 0x964,  0x965,  0x6D4,
                                     0x61F,  0x589,  0x1362, 0};
    size_t end = text->len, n = 0;

    while (end && sentence_marks_among(utf8_decode_last(text->data, end, &n), marks))
        end -= n;
    while (end && text->data[end - 1] == ' ')
        end--;
    return end;
}

static void drop_ends(struct str *source, struct str *target)
{
    const size_t s = without_end(source), t = without_end(target);

    if (!s || !t || s == source->len || t == target->len)
        return;
    source->data[source->len = s] = '\0';
    target->data[target->len = t] = '\0';
}

/* --- numbers --- */

enum { MOST_NUMBERS = 32, LEAST_DIGITS = 2, MOST_DIGITS = 18 };

struct number {
    char text[MOST_DIGITS + 1];
    size_t at, n;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether the run of digits is a number of its own, of a length that varies. */
static bool is_number(const struct str *text, size_t at, size_t n)
{
    struct letter l;
    size_t len;

    if (n < LEAST_DIGITS || n > MOST_DIGITS || letter_at(text, at + n, &l))
        return false;
    const uint32_t before = at ? utf8_decode_last(text->data, at, &len) : ' ';
    return before == UTF8_BAD || !unicode_is_letter(before);
}

/* The numbers of a text; more than MOST_NUMBERS: too many. */
static size_t find_numbers(const struct str *text, struct number *found)
{
    size_t n_found = 0, end;

    for (size_t at = 0; at < text->len && n_found <= MOST_NUMBERS; at = end + 1) {
        for (end = at; end < text->len && is_digit(text->data[end]);)
            end++;
        if (!is_number(text, at, end - at))
            continue;
        struct number *f = &found[n_found++];
        *f = (struct number){.at = at, .n = end - at};
        memcpy(f->text, text->data + at, f->n);
    }
    return n_found;
}

static size_t count_of(const struct number *list, size_t n, const char *text)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += strcmp(list[i].text, text) == 0;
    return count;
}

/* Another number of this length, as a function of the old one. A zero in front stays. */
static void draw_number(char *to, const struct number *old, uint64_t key)
{
    struct rng draws = rng_open(rng_key(key, old->text));

    do {
        for (size_t i = 0; i < old->n; i++) {
            const bool is_first = i == 0;
            to[i] = (char)('0' + is_first + (int)rng_below(&draws, 10 - is_first));
        }
        if (old->text[0] == '0')
            to[0] = '0';
    } while (memcmp(to, old->text, old->n) == 0);
}

/* Of the numbers that are on the other side as often. */
static void vary_numbers(struct str *text, const struct number *mine, size_t n_mine,
                         const struct number *other, size_t n_other, uint64_t key)
{
    for (size_t i = 0; i < n_mine; i++)
        if (count_of(mine, n_mine, mine[i].text) ==
            count_of(other, n_other, mine[i].text))
            draw_number(text->data + mine[i].at, &mine[i], key);
}

static void vary_digits(struct str *source, struct str *target, uint64_t key)
{
    struct number s[MOST_NUMBERS + 1], t[MOST_NUMBERS + 1];
    const size_t n = find_numbers(source, s), m = find_numbers(target, t);

    if (n > MOST_NUMBERS || m > MOST_NUMBERS)
        return;
    vary_numbers(source, s, n, t, m, key);
    vary_numbers(target, t, m, s, n, key);
}

void augment_pair(unsigned kinds, uint64_t key, struct str *source, struct str *target,
                  struct str *spare)
{
    if (kinds & 1u << AUGMENT_digits)
        vary_digits(source, target, draws_of(key, AUGMENT_digits).key);
    if (kinds & 1u << AUGMENT_no_end)
        drop_ends(source, target);
    for (int k = AUGMENT_upper; k <= AUGMENT_lower; k++)
        if (kinds & 1u << k) {
            change_case(source, (enum augment_kind)k, spare);
            change_case(target, (enum augment_kind)k, spare);
        }
    if (kinds & 1u << AUGMENT_typos)
        make_typos(source, draws_of(key, AUGMENT_typos), spare);
}
