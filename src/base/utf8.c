#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

uint32_t utf8_decode(const char *s, size_t n, size_t *len)
{
    utf8proc_int32_t code = (unsigned char)s[0];

    *len = 1;
    if (code < 0x80)
        return (uint32_t)code;
    const utf8proc_ssize_t got =
        utf8proc_iterate((const utf8proc_uint8_t *)s, n < 4 ? (int)n : 4, &code);
    if (got <= 0)
        return UTF8_BAD;
    *len = (size_t)got;
    return (uint32_t)code;
}

uint32_t utf8_decode_last(const char *s, size_t n, size_t *len)
{
    size_t k = 1;

    while (k < 4 && k < n && ((unsigned char)s[n - k] & 0xC0) == 0x80)
        k++;
    const uint32_t code = utf8_decode(s + n - k, k, len);
    if (*len == k)
        return code;
    *len = 1;
    return UTF8_BAD;
}

size_t utf8_encode(char *out, uint32_t code)
{
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)code, (utf8proc_uint8_t *)out);
}

bool utf8_valid(const char *s, size_t n)
{
    size_t len;

    for (size_t i = 0; i < n; i += len)
        if (utf8_decode(s + i, n - i, &len) == UTF8_BAD)
            return false;
    return true;
}

void utf8_mend(struct str *out, const char *s, size_t n)
{
    size_t len;

    for (size_t i = 0; i < n; i += len) {
        if (utf8_decode(s + i, n - i, &len) == UTF8_BAD)
            str_puts(out, "\uFFFD");
        else
            str_add(out, s + i, len);
    }
}

size_t utf8_unmended(const char *s, size_t n, size_t at)
{
    size_t i = 0, len;

    for (size_t to = 0; to < at && i < n; i += len)
        to += utf8_decode(s + i, n - i, &len) == UTF8_BAD ? sizeof "\uFFFD" - 1 : len;
    return i;
}

size_t utf8_count(const char *s, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xC0) != 0x80;
    return count;
}

size_t utf8_columns(uint32_t c)
{
    static const struct {
        uint32_t low, high;
    } wide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},  {0xA960, 0xA97F},
                {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},  {0xFE30, 0xFE6F},
                {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x16FE0, 0x1B2FF},
                {0x1F000, 0x1FAFF}, {0x20000, 0x3FFFD}};

    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (c >= wide[i].low && c <= wide[i].high)
            return 2;
    return 1;
}

size_t utf8_fit(const char *s, size_t n, size_t columns, size_t bytes, size_t *shown)
{
    size_t at = 0, len;

    for (*shown = 0; at < n; at += len) {
        const size_t wide = utf8_columns(utf8_decode(s + at, n - at, &len));
        if (*shown + wide > columns || at + len > bytes)
            break;
        *shown += wide;
    }
    return at;
}

bool utf8_is_shown(uint32_t c)
{
    const bool is_control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    const bool is_no_character = (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE;
    const bool is_turning = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);

    return c != UTF8_BAD && !is_control && !is_no_character && !is_turning;
}

bool utf8_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

void utf8_spell(char *out, size_t n_out, const char *text)
{
    const size_t n = strlen(text);
    size_t used = 0, len;

    for (size_t at = 0; at < n; at += len) {
        const uint32_t code = utf8_decode(text + at, n - at, &len);
        const unsigned char byte = (unsigned char)text[at];
        char spelled[16];
        if (utf8_is_shown(code))
            snprintf(spelled, sizeof spelled, "%.*s", (int)len, text + at);
        else if (code != UTF8_BAD && utf8_is_space(code))
            snprintf(spelled, sizeof spelled, " ");
        else
            snprintf(spelled, sizeof spelled, len == 1 ? "\\x%02X" : "\\u%04X",
                     (unsigned)(len == 1 ? byte : code));
        const size_t more = strlen(spelled);
        if (used + more >= n_out)
            break;
        memcpy(out + used, spelled, more);
        used += more;
    }
    out[used] = '\0';
}
