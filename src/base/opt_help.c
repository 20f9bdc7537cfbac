/*
 * The --help side of opt: one aligned entry an option, wrapped at WIDTH columns:
 *
 *     max_steps   optimizer updates (0 to 1e9) [100000]
 *     optimizer   update rule (adam, adamw or novograd) [adam]
 */
#include <math.h>
#include <string.h>

#include "base/opt.h"
#include "base/utf8.h"

enum { WIDTH = 96, INDENT = 2, GAP = 2 };

/* "100000", "0.999", "1e9": as short as it can be typed. */
static void put_number(struct str *out, double x)
{
    char text[32], *e;

    if (fabs(x) < 1e6 && x == nearbyint(x)) {
        str_printf(out, "%.0f", x);
        return;
    }
    snprintf(text, sizeof text, "%.6g", x);
    e = strpbrk(text, "e");
    if (!e) {
        str_puts(out, text);
        return;
    }
    str_printf(out, "%.*se%s", (int)(e - text), text, e[1] == '-' ? "-" : "");
    str_puts(out, e + 2 + strspn(e + 2, "0"));
}

static void put_choices(struct str *out, const char *list)
{
    while (*list) {
        const size_t n = strcspn(list, "|");
        str_add(out, list, n);
        list += n;
        if (*list == '|') {
            list++;
            str_puts(out, strchr(list, '|') ? ", " : " or ");
        }
    }
}

void opt_describe(const struct opt *o, struct str *out)
{
    str_puts(out, o->help);
    switch (o->type) {
    case OPT_INT:
    case OPT_REAL:
        str_puts(out, " (");
        put_number(out, o->lo);
        str_puts(out, " to ");
        put_number(out, o->hi);
        str_putc(out, ')');
        break;
    case OPT_BOOL:
        str_puts(out, " (true or false)");
        break;
    case OPT_CHOICE:
        str_puts(out, " (");
        put_choices(out, o->choices);
        str_putc(out, ')');
        break;
    case OPT_STR:
        break;
    }
    if (*o->initial)
        str_printf(out, " [%s]", o->initial);
}

/* Words of `text` from column `at`, broken before they would pass WIDTH. */
static void print_wrapped(FILE *out, const char *text, size_t at)
{
    size_t column = at;

    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, " "), width = utf8_count(p, n);
        if (column > at && column + 1 + width > WIDTH) {
            fprintf(out, "\n%*s", (int)at, "");
            column = at;
        } else if (column > at) {
            fputc(' ', out);
            column++;
        }
        fwrite(p, 1, n, out);
        column += width;
        p += n + (p[n] == ' ');
    }
    fputc('\n', out);
}

void opt_help(struct opt_table t, FILE *out)
{
    size_t longest = 0;
    struct str text = str_new(1 << 16);

    for (size_t i = 0; i < t.n; i++) {
        const size_t n = strlen(t.opt[i].name);
        longest = n > longest ? n : longest;
    }
    for (size_t i = 0; i < t.n; i++) {
        str_reset(&text);
        opt_describe(&t.opt[i], &text);
        fprintf(out, "%*s%-*s%*s", INDENT, "", (int)longest, t.opt[i].name, GAP, "");
        print_wrapped(out, str_text(&text), INDENT + longest + GAP);
    }
    str_release(&text);
}
