#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/utf8.h"

static const struct {
    uint32_t first, last;
    enum unicode_script script;
} blocks[] = {
    {0x0041, 0x024F, UNICODE_LATIN},      {0x0250, 0x02AF, UNICODE_LATIN},
    {0x1E00, 0x1EFF, UNICODE_LATIN},      {0x2C60, 0x2C7F, UNICODE_LATIN},
    {0xA720, 0xA7FF, UNICODE_LATIN},      {0xAB30, 0xAB6F, UNICODE_LATIN},
    {0xFB00, 0xFB06, UNICODE_LATIN},      {0xFF21, 0xFF5A, UNICODE_LATIN},
    {0x0370, 0x03FF, UNICODE_GREEK},      {0x1F00, 0x1FFF, UNICODE_GREEK},
    {0x0400, 0x052F, UNICODE_CYRILLIC},   {0x1C80, 0x1C8F, UNICODE_CYRILLIC},
    {0x2DE0, 0x2DFF, UNICODE_CYRILLIC},   {0xA640, 0xA69F, UNICODE_CYRILLIC},
    {0x0530, 0x058F, UNICODE_ARMENIAN},   {0x0590, 0x05FF, UNICODE_HEBREW},
    {0xFB1D, 0xFB4F, UNICODE_HEBREW},     {0x0600, 0x06FF, UNICODE_ARABIC},
    {0x0750, 0x077F, UNICODE_ARABIC},     {0x08A0, 0x08FF, UNICODE_ARABIC},
    {0xFB50, 0xFDFF, UNICODE_ARABIC},     {0xFE70, 0xFEFF, UNICODE_ARABIC},
    {0x0900, 0x097F, UNICODE_DEVANAGARI}, {0xA8E0, 0xA8FF, UNICODE_DEVANAGARI},
    {0x0980, 0x09FF, UNICODE_BENGALI},    {0x0B80, 0x0BFF, UNICODE_TAMIL},
    {0x0E00, 0x0E7F, UNICODE_THAI},       {0x10A0, 0x10FF, UNICODE_GEORGIAN},
    {0x1C90, 0x1CBF, UNICODE_GEORGIAN},   {0x2D00, 0x2D2F, UNICODE_GEORGIAN},
    {0x1200, 0x139F, UNICODE_ETHIOPIC},   {0x2D80, 0x2DDF, UNICODE_ETHIOPIC},
    {0x3005, 0x3007, UNICODE_HAN},        {0x3400, 0x4DBF, UNICODE_HAN},
    {0x4E00, 0x9FFF, UNICODE_HAN},        {0xF900, 0xFAFF, UNICODE_HAN},
    {0x20000, 0x3FFFF, UNICODE_HAN},      {0x3040, 0x30FF, UNICODE_JAPANESE},
    {0x31F0, 0x31FF, UNICODE_JAPANESE},   {0xFF66, 0xFF9F, UNICODE_JAPANESE},
    {0x1100, 0x11FF, UNICODE_KOREAN},     {0x3130, 0x318F, UNICODE_KOREAN},
    {0xA960, 0xA97F, UNICODE_KOREAN},     {0xAC00, 0xD7FF, UNICODE_KOREAN},
};

enum unicode_script unicode_script_named(const char *name)
{
    static const char *const names[] = {
#define S(code, text) text,
        UNICODE_SCRIPT_LIST(S)
#undef S
    };

    for (size_t i = 0; i < N_UNICODE_SCRIPTS; i++)
        if (strcmp(names[i], name) == 0)
            return (enum unicode_script)i;
    return UNICODE_ANY;
}

bool unicode_is_letter(uint32_t code)
{
    if (code < 0x80)
        return (code | 0x20) - 'a' < 26;
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool unicode_is_lower(uint32_t code)
{
    if (code < 0x80)
        return code - 'a' < 26;
    return utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_LL;
}

bool unicode_is_digit(uint32_t code)
{
    if (code < 0x80)
        return code - '0' < 10;
    return utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_ND;
}

bool unicode_is_mark(uint32_t code)
{
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);

    return c >= UTF8PROC_CATEGORY_MN && c <= UTF8PROC_CATEGORY_ME;
}

bool unicode_is_control(uint32_t code)
{
    return (code < 0x20 || (code >= 0x7F && code < 0xA0)) && !utf8_is_space(code);
}

uint32_t unicode_lower(uint32_t code)
{
    if (code < 0x80)
        return code - 'A' < 26 ? code + 32 : code;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
}

uint32_t unicode_upper(uint32_t code)
{
    return (uint32_t)utf8proc_toupper((utf8proc_int32_t)code);
}

uint32_t unicode_title(uint32_t code)
{
    return (uint32_t)utf8proc_totitle((utf8proc_int32_t)code);
}

static enum unicode_script script_of(uint32_t code)
{
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (code >= blocks[i].first && code <= blocks[i].last)
            return blocks[i].script;
    return UNICODE_ANY;
}

bool unicode_is_of(uint32_t letter, enum unicode_script script)
{
    const enum unicode_script is = script_of(letter);
    const bool is_mixed = script == UNICODE_JAPANESE || script == UNICODE_KOREAN;

    return script == UNICODE_ANY || is == script || (is_mixed && is == UNICODE_HAN);
}

bool unicode_is_unspaced(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x0E00, 0x0EFF},   {0x1000, 0x109F}, {0x1780, 0x17FF}, {0x203C, 0x203C},
        {0x2047, 0x2049},   {0x2E80, 0x312F}, {0x3190, 0x9FFF}, {0xF900, 0xFAFF},
        {0xFE10, 0xFE1F},   {0xFE30, 0xFE4F}, {0xFF01, 0xFF9F}, {0x1B000, 0x1B16F},
        {0x20000, 0x3FFFF},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* Nothing below U+0300 changes in form C, or joins with what stands before it. */
static bool is_plain(struct line in)
{
    for (size_t i = 0; i < in.n_bytes; i++)
        if ((unsigned char)in.text[i] >= 0xCC)
            return false;
    return true;
}

/* Well-formed text without NUL trouble: utf8proc takes a length. */
static status compose(struct str *out, struct line in, struct err *err)
{
    utf8proc_uint8_t *made = NULL;
    const utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)in.text, (utf8proc_ssize_t)in.n_bytes,
                     &made, UTF8PROC_STABLE | UTF8PROC_COMPOSE);

    if (n < 0)
        return err_set(err, ERR_MEMORY, "normalising a line of %zu bytes: %s", in.n_bytes,
                       utf8proc_errmsg(n));
    str_add(out, made, (size_t)n);
    free(made);
    return OK;
}

status unicode_nfc(struct str *out, struct line in, struct err *err)
{
    size_t from = 0, len;

    if (is_plain(in)) {
        str_add(out, in.text, in.n_bytes);
        return OK;
    }
    for (size_t i = 0; i < in.n_bytes; i += len) {
        if (utf8_decode(in.text + i, in.n_bytes - i, &len) != UTF8_BAD)
            continue;
        TRY(compose(out, (struct line){in.text + from, i - from}, err));
        str_putc(out, in.text[i]);
        from = i + 1;
    }
    return compose(out, (struct line){in.text + from, in.n_bytes - from}, err);
}
