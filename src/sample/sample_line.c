#include "sample/sample_line.h"

struct sample_line sample_line_begin(struct str *out)
{
    return (struct sample_line){.out = out, .start = out->len};
}

void sample_line_word(struct sample_line *l, const char *text)
{
    if (!*text)
        return;
    if (l->out->len > l->start)
        str_puts(l->out, l->is_comma_due ? ", " : " ");
    l->is_comma_due = false;
    str_puts(l->out, text);
}

void sample_line_comma(struct sample_line *l)
{
    l->is_comma_due = true;
}

void sample_line_end(struct sample_line *l, char mark)
{
    l->is_comma_due = false;
    str_putc(l->out, mark);
    if (l->out->bad)
        return;

    /* ä ö ü are C3 A4, B6, BC; like a to z, their capitals are 0x20 below. */
    unsigned char *c = (unsigned char *)l->out->data + l->start;
    if (*c == 0xc3)
        c++;
    if ((*c >= 'a' && *c <= 'z') || *c == 0xa4 || *c == 0xb6 || *c == 0xbc)
        *c = (unsigned char)(*c - 0x20);
}
