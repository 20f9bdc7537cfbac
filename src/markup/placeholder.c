#include "markup/placeholder.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "text/unicode.h"

/* Bytes that are looked at before something is taken to be none; this keeps the time
 * linear. */
enum {
    LONGEST_NAME = 64,
    LONGEST_DOUBLE = 128,
    LONGEST_MESSAGE = 256,
    LONGEST_HOST = 253
};

#define BLANKS " \t\r\n\f\v"

/* The text; matches may not reach back beyond `from`. */
struct scan {
    const char *text;
    size_t n, from;
};

static char at(const struct scan *s, size_t i)
{
    return i < s->n ? s->text[i] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a set, in which NUL never is. */
static bool is_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of a name in a program; bytes of letters that are not ASCII count. */
static bool is_name(char c)
{
    return is_ascii_letter(c) || is_digit(c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_blank(char c)
{
    return is_of(c, BLANKS);
}

static bool is_word_before(const struct scan *s, size_t i)
{
    size_t len;

    if (i <= s->from)
        return false;
    const uint32_t code = utf8_decode_last(s->text + s->from, i - s->from, &len);
    return code != UTF8_BAD &&
           (unicode_is_letter(code) || unicode_is_digit(code) || unicode_is_mark(code));
}

static bool is_word_at(const struct scan *s, size_t i)
{
    size_t len;

    if (i >= s->n)
        return false;
    const uint32_t code = utf8_decode(s->text + i, s->n - i, &len);
    return code != UTF8_BAD && (unicode_is_letter(code) || unicode_is_digit(code));
}

static size_t skip(const struct scan *s, size_t i, const char *set)
{
    while (is_of(at(s, i), set))
        i++;
    return i;
}

static size_t skip_digits(const struct scan *s, size_t i)
{
    return skip(s, i, "0123456789");
}

/* Behind the `close` that ends what begins at i and holds none of `no`, or 0. White space
 * counts as the one blank that a translator sees of it. */
static size_t enclosed(const struct scan *s, size_t i, char close, size_t most,
                       const char *no)
{
    for (size_t k = i, n = 0; k < s->n && n <= most; k++) {
        if (s->text[k] == close)
            return k + 1;
        if (!s->text[k] || is_of(s->text[k], no))
            return 0;
        n += !is_blank(s->text[k]) || !is_blank(at(s, k + 1));
    }
    return 0;
}

/* "%5.2f" from behind the "%": its end, or 0. */
static size_t conversion(const struct scan *s, size_t i)
{
    const size_t digits = skip_digits(s, i);
    const bool is_numbered = digits > i && at(s, digits) == '$';
    size_t k = is_numbered ? digits + 1 : i;

    k = skip(s, k, "-+#0'");
    k = at(s, k) == '*' ? k + 1 : skip_digits(s, k);
    if (at(s, k) == '.')
        k = at(s, k + 1) == '*' ? k + 2 : skip_digits(s, k + 1);
    k = skip(s, k, "hlLqjzt");
    if (is_of(at(s, k), "diouxXeEfFgGaAcCsSpn@"))
        return k + 1;
    k = i + (at(s, i) == 'L'); /* "%1" and "%L1", as Qt has them */
    const size_t end = skip_digits(s, k);
    return end > k && end - k <= 2 && !is_numbered ? end : 0;
}

/* A percent sign that begins no number's unit. */
static size_t percent(const struct scan *s, size_t i)
{
    const char *const no_name = BLANKS "(){}<>%";
    size_t end;

    if (i > s->from && is_digit(s->text[i - 1]))
        return 0;
    switch (at(s, i + 1)) {
    case '%':
        return i + 2;
    case '(':
        end = enclosed(s, i + 2, ')', LONGEST_NAME, no_name);
        break;
    case '<':
        end = enclosed(s, i + 2, '>', LONGEST_NAME, no_name);
        break;
    case '{':
        return enclosed(s, i + 2, '}', LONGEST_NAME, no_name);
    default:
        return conversion(s, i + 1);
    }
    if (!end)
        return 0;
    const size_t rest = conversion(s, end);
    return rest && !is_digit(at(s, end)) ? rest : end;
}

/* "{n, plural, one {# file} other {# files}}": braces in pairs behind a name and a comma.
 */
static size_t message(const struct scan *s, size_t i)
{
    size_t k = i + 1, depth = 0, n = 0;

    while (is_name(at(s, k)))
        k++;
    if (k == i + 1 || at(s, k) != ',')
        return 0;
    for (k = i; k < s->n && n < LONGEST_MESSAGE; k++) {
        n += !is_blank(s->text[k]) || !is_blank(at(s, k + 1));
        depth += s->text[k] == '{';
        if (s->text[k] == '}' && --depth == 0)
            return k + 1;
    }
    return 0;
}

static size_t braces(const struct scan *s, size_t i)
{
    if (at(s, i + 1) == '{') {
        const size_t end = enclosed(s, i + 2, '}', LONGEST_DOUBLE, "{");
        if (end && at(s, end) == '}')
            return end + 1 + (at(s, end + 1) == '}' && at(s, i + 2) == '{');
    }
    const size_t end = enclosed(s, i + 1, '}', LONGEST_NAME, BLANKS "{");
    return end ? end : message(s, i);
}

static size_t emoji(const struct scan *s, size_t i)
{
    size_t k = i + 1;
    bool has_letter = false;

    if (is_word_before(s, i) || (i > s->from && s->text[i - 1] == ':'))
        return 0;
    for (; k - i <= LONGEST_NAME; k++) {
        const char c = at(s, k);
        has_letter |= is_ascii_letter(c);
        if (!is_ascii_letter(c) && !is_digit(c) && !is_of(c, "_+-"))
            break;
    }
    return k > i + 2 && has_letter && at(s, k) == ':' && at(s, k + 1) != ':' &&
                   !is_word_at(s, k + 1)
               ? k + 1
               : 0;
}

/* The end of an address without the punctuation of the sentence around it. */
static size_t address_end(const struct scan *s, size_t begin)
{
    size_t end = begin, n_open = 0, n_closed = 0, len;

    for (; end < s->n; end += len) {
        const uint32_t code = utf8_decode(s->text + end, s->n - end, &len);
        if (code < 0x21 || code == UTF8_BAD || utf8_is_space(code) ||
            is_of((char)(code < 0x80 ? code : 'a'), "<>\"`\\^|") ||
            unicode_is_unspaced(code) || (code >= 0x2018 && code <= 0x201F) ||
            code == 0xAB || code == 0xBB)
            break;
        n_open += code == '(';
        n_closed += code == ')';
    }
    for (; end > begin; end--) {
        const char c = s->text[end - 1];
        if (c == ')' ? n_closed-- <= n_open : !is_of(c, ".,;:!?'*_~]"))
            break;
    }
    return end;
}

/* The colon of "https://": *begin becomes that of the scheme. */
static size_t link_at(const struct scan *s, size_t i, size_t *begin)
{
    size_t k = i;

    /* Behind a word something is left of the address: its text is looked at once. */
    if (at(s, i + 1) != '/' || at(s, i + 2) != '/' || !is_word_at(s, i + 3))
        return 0;
    while (k > s->from && i - k < 16 &&
           (is_ascii_letter(s->text[k - 1]) || is_digit(s->text[k - 1]) ||
            is_of(s->text[k - 1], "+-.")))
        k--;
    while (k < i && !is_ascii_letter(s->text[k]))
        k++;
    const size_t end = address_end(s, i + 3);
    *begin = k;
    return k < i && end > i + 3 ? end : 0;
}

static size_t www(const struct scan *s, size_t i)
{
    if (s->n - i < 5 || memcmp(s->text + i, "www.", 4) != 0 || is_word_before(s, i) ||
        !is_word_at(s, i + 4))
        return 0;
    const size_t end = address_end(s, i + 4);
    return end > i + 4 ? end : 0;
}

/* The "@" of "me@a.org": *begin becomes that of "me". */
static size_t mail(const struct scan *s, size_t i, size_t *begin)
{
    size_t k = i, end = i + 1, dot = 0;

    while (k > s->from && i - k < LONGEST_NAME &&
           (is_ascii_letter(s->text[k - 1]) || is_digit(s->text[k - 1]) ||
            is_of(s->text[k - 1], ".!#$&'*+/=?^_`|~-")))
        k--;
    while (k < i && !is_ascii_letter(s->text[k]) && !is_digit(s->text[k]))
        k++;
    for (; end < s->n && end - i <= LONGEST_HOST; end++) {
        const char c = s->text[end];
        if (c == '.' && end > i + 1 && is_name(at(s, end + 1)))
            dot = end;
        else if (!is_ascii_letter(c) && !is_digit(c) && (c != '-' || end == i + 1))
            break;
    }
    while (end > i + 1 && s->text[end - 1] == '-')
        end--;
    *begin = k;
    return k < i && dot && end > dot + 2 ? end : 0;
}

/* Blanks that may stand between a number and its unit or sign: white space, which the
 * translator sees as one blank however long it is, or one of those that do not break. */
static size_t blank(const struct scan *s, size_t i)
{
    static const char *const blanks[] = {"\u00A0", "\u202F", "\u2009"};
    const size_t end = skip(s, i, BLANKS);

    if (end > i)
        return end - i;
    for (size_t k = 0; k < sizeof blanks / sizeof *blanks; k++) {
        const size_t n = strlen(blanks[k]);
        if (s->n - i >= n && memcmp(s->text + i, blanks[k], n) == 0)
            return n;
    }
    return 0;
}

static size_t number_end(const struct scan *s, size_t i)
{
    size_t end = skip_digits(s, i);

    while (is_of(at(s, end), ".,'") && is_digit(at(s, end + 1)))
        end = skip_digits(s, end + 1);
    return end;
}

/* Each with a blank before and behind it; those of one letter first. */
static const char units[] =
    " % ‰ ° € $ £ ¥ m g l s h V W K J N km cm dm mm µm μm nm kg mg µg μg ml cl dl hl ha "
    "ms µs μs ns min kB KB MB GB TB PB KiB MiB GiB TiB kbit Mbit Gbit kbit/s Mbit/s "
    "Gbit/s kB/s MB/s GB/s km/h m/s mph kn Hz kHz MHz GHz kW MW GW kWh MWh mV kV mA mAh "
    "Ah kJ MJ cal kcal kN Pa hPa kPa MPa bar mbar psi dB px pt dpi fps rpm lb lbs oz ft "
    "yd mi m² m³ km² cm² cm³ mm² °C °F EUR USD GBP CHF JPY ";
enum { LONGEST_UNIT = 8 };

static bool is_unit(const char *text, size_t n)
{
    char key[LONGEST_UNIT + 3] = " ";

    memcpy(key + 1, text, n);
    key[n + 1] = ' ';
    return strstr(units, key) != NULL;
}

/* The longest unit at i that no letter goes on with; a percent sign before a letter is
 * code, unless it stands at its number. */
static size_t unit_end(const struct scan *s, size_t i, bool is_near)
{
    if (at(s, i) == '%' && (is_near || !(is_name(at(s, i + 1)) || at(s, i + 1) == '%' ||
                                         at(s, i + 1) == '(' || at(s, i + 1) == '{')))
        return i + 1;
    const bool is_code = is_name(at(s, i + 1)) || is_of(at(s, i + 1), "{(");
    if ((unsigned char)at(s, i) < 0x80 && !is_ascii_letter(at(s, i)) &&
        (at(s, i) != '$' || is_code))
        return 0;
    for (size_t n = LONGEST_UNIT; n > 0; n--)
        if (i + n <= s->n && !memchr(s->text + i, ' ', n) &&
            !memchr(s->text + i, '\0', n) && is_unit(s->text + i, n) &&
            !is_word_at(s, i + n))
            return i + n;
    return 0;
}

/* A number that begins at i: *number becomes its end. */
static size_t measure(const struct scan *s, size_t i, size_t *number)
{
    *number = number_end(s, i);
    if (is_word_before(s, i) || *number == i)
        return 0;
    const size_t near = unit_end(s, *number, true);
    if (near)
        return near;
    const size_t gap = *number < s->n ? blank(s, *number) : 0;
    return gap ? unit_end(s, *number + gap, false) : 0;
}

/* The sign of a currency of so many bytes before a number. */
static size_t price(const struct scan *s, size_t i, size_t n_sign)
{
    size_t from = i + n_sign;

    if (from < s->n)
        from += blank(s, from);
    const size_t end = number_end(s, from);
    return end > from ? end : 0;
}

static size_t dollar(const struct scan *s, size_t i, enum placeholder_kind *kind)
{
    size_t k = i + 1;

    if (at(s, k) == '{')
        return enclosed(s, k + 1, '}', LONGEST_DOUBLE, "{");
    if (at(s, k) == '(')
        return enclosed(s, k + 1, ')', LONGEST_NAME, BLANKS "()");
    if (is_digit(at(s, k + blank(s, k)))) {
        *kind = PLACEHOLDER_MEASURE;
        return price(s, i, 1);
    }
    while (is_name(at(s, k)) && !is_digit(at(s, i + 1)))
        k++;
    return k > i + 1 ? k : 0;
}

static size_t sign_bytes(const struct scan *s, size_t i)
{
    static const char *const signs[] = {"€", "£", "¥"};

    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++) {
        const size_t n = strlen(signs[k]);
        if (s->n - i >= n && memcmp(s->text + i, signs[k], n) == 0)
            return n;
    }
    return 0;
}

/* Its end if the byte at i tells one; *i moves to the last byte that need not be looked
 * at again. */
static size_t try_at(const struct scan *s, size_t *i, struct placeholder *p)
{
    const char c = s->text[*i];
    size_t end = 0, number;

    *p = (struct placeholder){.at = *i, .kind = PLACEHOLDER_CODE};
    if (c == '%')
        return percent(s, *i);
    if (c == '{')
        return braces(s, *i);
    if (c == '#' && at(s, *i + 1) == '{')
        return enclosed(s, *i + 2, '}', LONGEST_NAME, "{");
    if (c == '$')
        return dollar(s, *i, &p->kind);
    if (c == ':' && (end = emoji(s, *i)))
        return end;
    p->kind = PLACEHOLDER_ADDRESS;
    if (c == ':')
        return link_at(s, *i, &p->at);
    if (c == 'w')
        return www(s, *i);
    if (c == '@')
        return mail(s, *i, &p->at);
    p->kind = PLACEHOLDER_MEASURE;
    if (is_digit(c)) {
        end = measure(s, *i, &number);
        *i = number - 1;
        return end;
    }
    const size_t n_sign = (unsigned char)c >= 0x80 ? sign_bytes(s, *i) : 0;
    return n_sign ? price(s, *i, n_sign) : 0;
}

bool placeholder_next(const char *text, size_t n, size_t from, struct placeholder *p)
{
    const struct scan s = {text, n, from};

    for (size_t i = from; i < n; i++) {
        const size_t end = try_at(&s, &i, p);
        if (end) {
            p->n_bytes = end - p->at;
            return true;
        }
    }
    return false;
}
