#include "prepare/source/markup.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

enum { TEXT_PIECE = 4096, ENTITY_MAX = 12 };

void markup_init(struct markup *m, struct line_reader file)
{
    *m = (struct markup){
        .file = file, .tag = str_new(MARKUP_TAG_MAX), .text = str_new(0), .line = 1};
}

void markup_close(struct markup *m)
{
    line_reader_close(&m->file);
    str_release(&m->tag);
    str_release(&m->text);
    *m = (struct markup){0};
}

status markup_fail(const struct markup *m, struct err *err, const char *fmt, ...)
{
    char what[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return err_set(err, ERR_FORMAT, "%s:%llu: %s", m->file.in.name,
                   (unsigned long long)m->line, what);
}

static bool is_name_start(int c)
{
    return isalpha(c) || c == '_' || c == ':';
}

/* "#x41" and "#65" are one character; 0 when the digits are not one. */
static uint32_t reference_code(const char *digits)
{
    const bool is_hex = *digits == 'x' || *digits == 'X';
    char *end;

    digits += is_hex;
    if (!isxdigit((unsigned char)*digits))
        return 0;
    const unsigned long code = strtoul(digits, &end, is_hex ? 16 : 10);
    const bool is_character =
        code && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
    return *end == '\0' && is_character ? (uint32_t)code : 0;
}

/* Append what the entity `name` (without & and ;) stands for; false if nothing. */
static bool add_entity(struct str *out, const char *name)
{
    static const char *const known[][2] = {
        {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}};
    char bytes[4];

    if (*name == '#') {
        const uint32_t code = reference_code(name + 1);
        if (code)
            str_add(out, bytes, utf8_encode(bytes, code));
        return code != 0;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(name, known[i][0]) == 0) {
            str_puts(out, known[i][1]);
            return true;
        }
    return false;
}

/* After "&". */
static status read_entity(struct markup *m, struct err *err)
{
    char name[ENTITY_MAX + 1];
    size_t n = 0;
    int c;

    for (;;) {
        TRY(line_reader_peek(&m->file, &c, err));
        if (n == ENTITY_MAX || !(isalnum(c) || (c == '#' && n == 0)))
            break;
        name[n++] = (char)c;
        TRY(line_reader_byte(&m->file, &c, err));
    }
    name[n] = '\0';
    if (c == ';' && add_entity(&m->text, name))
        return line_reader_byte(&m->file, &c, err);
    str_putc(&m->text, '&');
    str_add(&m->text, name, n);
    return OK;
}

/* The next byte, where the file must not end: inside `what`. */
static status need_byte(struct markup *m, int *c, const char *what, struct err *err)
{
    TRY(line_reader_byte(&m->file, c, err));
    if (*c == LINE_READER_END)
        return markup_fail(m, err, "the file ends inside %s; was it cut?", what);
    return OK;
}

/* Whether the byte `c` is text in quotes, or one of them; *quote is the open one, or 0.
 */
static bool is_quoted(int c, int *quote)
{
    const bool was = *quote != 0;

    if (was)
        *quote = c == *quote ? 0 : *quote;
    else if (c == '"' || c == '\'')
        *quote = c;
    return was || *quote;
}

/* Pass over everything up to `end`; its first n_kept bytes go to *keep. */
static status skip_to(struct markup *m, const char *end, struct str *keep, size_t n_kept,
                      const char *what, struct err *err)
{
    const size_t n = strlen(end);
    char last[4] = "";
    int c;

    for (;;) {
        TRY(need_byte(m, &c, what, err));
        memmove(last, last + 1, n - 1);
        last[n - 1] = (char)c;
        if (keep->len < n_kept)
            str_putc(keep, (char)c);
        if (memcmp(last, end, n) == 0)
            return OK;
    }
}

/* <!DOCTYPE ...>, with what it may declare in brackets. */
static status skip_declaration(struct markup *m, struct err *err)
{
    int c, depth = 0, quote = 0;

    for (;;) {
        TRY(need_byte(m, &c, "a declaration", err));
        if (is_quoted(c, &quote))
            continue;
        if (c == '[')
            depth++;
        else if (c == ']')
            depth--;
        else if (c == '>' && depth <= 0)
            return OK;
    }
}

/* <?xml ... encoding="..."?>: only what the reader can decode. */
static status check_encoding(struct markup *m, struct err *err)
{
    const char *value;

    if (strncasecmp(str_text(&m->tag), "xml ", 4) != 0 ||
        !(value = markup_attribute(m, "encoding")))
        return OK;
    if (strcasecmp(value, "utf-8") == 0 || strcasecmp(value, "utf8") == 0 ||
        strcasecmp(value, "us-ascii") == 0 || strncasecmp(value, "utf-16", 6) == 0)
        return OK;
    return markup_fail(m, err, "the encoding is '%.40s'; convert the file to UTF-8 first",
                       value);
}

static status skip_instruction(struct markup *m, struct err *err)
{
    str_reset(&m->tag);
    TRY(skip_to(m, "?>", &m->tag, MARKUP_TAG_MAX / 2, "a processing instruction", err));
    return check_encoding(m, err);
}

/* A CDATA section in one piece; of one that is too long for a line, so much that it
 * shows. */
static status read_cdata(struct markup *m, struct err *err)
{
    TRY(skip_to(m, "]]>", &m->text, LINE_READER_MAX + 4, "a CDATA section", err));
    m->text.len -= m->text.bad ? 0 : 3;
    return OK;
}

/* Whether the file continues with `word`, which is then read. */
static status read_word(struct markup *m, const char *word, bool *yes, struct err *err)
{
    int c;

    for (*yes = false; *word; word++) {
        TRY(line_reader_peek(&m->file, &c, err));
        if (c != (unsigned char)*word)
            return OK;
        TRY(line_reader_byte(&m->file, &c, err));
    }
    *yes = true;
    return OK;
}

/* After "<!". */
static status read_bang(struct markup *m, struct err *err)
{
    bool yes;

    TRY(read_word(m, "--", &yes, err));
    if (yes)
        return skip_to(m, "-->", &m->text, 0, "a comment", err);
    TRY(read_word(m, "[CDATA[", &yes, err));
    return yes ? read_cdata(m, err) : skip_declaration(m, err);
}

/* What stands before ">", quotes respected. */
static status read_tag(struct markup *m, struct err *err)
{
    int c, quote = 0;

    str_reset(&m->tag);
    for (;;) {
        TRY(need_byte(m, &c, "a tag", err));
        if (!is_quoted(c, &quote) && c == '>')
            break;
        str_putc(&m->tag, (char)c);
        if (m->tag.bad) {
            m->tag.bad = false;
            return markup_fail(m, err, "a tag of more than %d bytes", MARKUP_TAG_MAX - 1);
        }
    }
    const char *text = str_text(&m->tag);
    size_t n = 0, from = *text == '/';
    while (text[from + n] && !isspace((unsigned char)text[from + n]) &&
           text[from + n] != '/' && n + 1 < sizeof m->name) {
        m->name[n] = (char)tolower((unsigned char)text[from + n]);
        n++;
    }
    m->name[n] = '\0';
    m->is_empty = m->tag.len > 0 && text[m->tag.len - 1] == '/';
    return OK;
}

/*
 * The markup behind "<" at which the reader stands. *event is MARKUP_TEXT when it was
 * none, or gave text, or was passed over.
 */
static status read_markup(struct markup *m, enum markup_event *event, struct err *err)
{
    int c;

    *event = MARKUP_TEXT;
    m->line = m->file.n_lines + 1;
    TRY(line_reader_peek(&m->file, &c, err));
    if (c == '!' || c == '?') {
        TRY(line_reader_byte(&m->file, &c, err));
        return c == '!' ? read_bang(m, err) : skip_instruction(m, err);
    }
    if (c != '/' && !is_name_start(c)) {
        str_putc(&m->text, '<');
        return OK;
    }
    *event = c == '/' ? MARKUP_CLOSE : MARKUP_OPEN;
    return read_tag(m, err);
}

/* Text up to the next "<", not much more than a piece of it. */
static status read_text(struct markup *m, struct err *err)
{
    int c;

    for (;;) {
        TRY(line_reader_peek(&m->file, &c, err));
        if (c == LINE_READER_END || c == '<' || m->text.len >= TEXT_PIECE)
            return OK;
        TRY(line_reader_byte(&m->file, &c, err));
        if (c == '&')
            TRY(read_entity(m, err));
        else
            str_putc(&m->text, (char)c);
    }
}

status markup_next(struct markup *m, enum markup_event *event, struct err *err)
{
    int c;

    str_reset(&m->text);
    *event = MARKUP_TEXT;
    m->line = m->file.n_lines + 1;
    while (!m->text.len) {
        TRY(line_reader_peek(&m->file, &c, err));
        if (c == LINE_READER_END) {
            *event = MARKUP_END;
            return OK;
        }
        if (c != '<') {
            TRY(read_text(m, err));
            break;
        }
        TRY(line_reader_byte(&m->file, &c, err));
        TRY(read_markup(m, event, err));
        if (*event != MARKUP_TEXT)
            return OK;
    }
    return str_check(&m->text, m->file.in.name, err);
}

/* Where the value of attribute `name` begins, behind "=" and blanks; NULL: not there. */
static const char *find_value(const char *at, const char *name)
{
    const size_t n = strlen(name);

    at += strcspn(at, " \t\r\n/"); /* the tag's name */
    while (*at) {
        at += strspn(at, " \t\r\n/");
        const size_t n_name = strcspn(at, " \t\r\n=");
        const char *is = at + n_name + strspn(at + n_name, " \t\r\n");
        if (*is != '=') {
            at = n_name ? at + n_name : is;
            if (!n_name && *at)
                at++;
            continue;
        }
        is += 1 + strspn(is + 1, " \t\r\n");
        if (n_name == n && strncasecmp(at, name, n) == 0)
            return is;
        const char quote = *is == '"' || *is == '\'' ? *is : '\0';
        const char *end = quote ? strchr(is + 1, quote) : is + strcspn(is, " \t\r\n");
        at = end ? end + (quote != '\0') : "";
    }
    return NULL;
}

const char *markup_attribute(struct markup *m, const char *name)
{
    const char *value = find_value(str_text(&m->tag), name);
    char entity[ENTITY_MAX + 1];

    if (!value)
        return NULL;
    const char quote = *value == '"' || *value == '\'' ? *value : '\0';
    const size_t n =
        quote ? strcspn(value + 1, (char[]){quote, '\0'}) : strcspn(value, " \t\r\n/");
    value += quote != '\0';
    str_reset(&m->text);
    for (size_t i = 0; i < n; i++) {
        const size_t len = value[i] == '&' ? strcspn(value + i + 1, "; \t&") : 0;
        snprintf(entity, sizeof entity, "%.*s", (int)(len < ENTITY_MAX ? len : 0),
                 value + i + 1);
        if (len && i + 1 + len < n && value[i + 1 + len] == ';' &&
            add_entity(&m->text, entity))
            i += 1 + len;
        else
            str_putc(&m->text, value[i]);
    }
    return str_text(&m->text);
}
