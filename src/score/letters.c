#include "score/letters.h"

#include <utf8proc.h>

#include "base/utf8.h"

enum { SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2, DOTTED_I = 0x130, DOT_ABOVE = 0x307 };

enum letters_kind letters_kind(uint32_t code)
{
    size_t low = 0,
           high = letters_table_n; /* the last entry not above it is in between */

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (letters_table[middle] >> 2 <= code)
            low = middle;
        else
            high = middle;
    }
    return (enum letters_kind)(letters_table[low] & 3);
}

bool letters_in(const struct letters_span *span, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code >= span[i].first && code <= span[i].last)
            return true;
    return false;
}

/* ---- small letters ---- */

/* Unicode's Cased, of what is not skipped as ignorable. */
static bool is_cased(uint32_t code)
{
    static const struct letters_span more[] = {
        {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2160, 0x217F},  {0x24B6, 0x24E9},
        {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
        return true;
    default:
        return letters_in(more, sizeof more / sizeof *more, code);
    }
}

/* Unicode's Case_Ignorable. */
static bool is_ignorable(uint32_t code)
{
    static const struct letters_span more[] = {
        {'\'', '\''},     {'.', '.'},       {':', ':'},       {0xB7, 0xB7},
        {0x387, 0x387},   {0x55F, 0x55F},   {0x5F4, 0x5F4},   {0x2018, 0x2019},
        {0x2024, 0x2024}, {0x2027, 0x2027}, {0xFE13, 0xFE13}, {0xFE52, 0xFE52},
        {0xFE55, 0xFE55}, {0xFF07, 0xFF07}, {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1A}};

    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return letters_in(more, sizeof more / sizeof *more, code);
    }
}

static bool is_cased_next(const char *text, size_t n)
{
    size_t len;

    for (size_t i = 0; i < n; i += len) {
        const uint32_t code = utf8_decode(text + i, n - i, &len);
        if (!is_ignorable(code))
            return is_cased(code);
    }
    return false;
}

static void put(struct str *out, uint32_t code)
{
    char bytes[4];

    str_add(out, bytes, utf8_encode(bytes, code));
}

void letters_lower(struct str *out, const char *text, size_t n)
{
    bool follows_cased = false; /* what is ignorable between does not count */
    size_t len;

    for (size_t i = 0; i < n; i += len) {
        const uint32_t code = utf8_decode(text + i, n - i, &len);
        if (code == SIGMA && follows_cased && !is_cased_next(text + i + len, n - i - len))
            put(out, FINAL_SIGMA);
        else
            put(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code));
        if (code == DOTTED_I)
            put(out, DOT_ABOVE);
        if (!is_ignorable(code))
            follows_cased = is_cased(code);
    }
}
