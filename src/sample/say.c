#include "sample/say.h"

void say_word(struct say *s, const char *text)
{
    if (!text || !*text)
        return;
    if (s->out->len > s->start)
        str_puts(s->out, s->is_comma_due ? ", " : " ");
    s->is_comma_due = false;
    str_puts(s->out, text);
}

static void say_either(struct say *s, const char *en, const char *de)
{
    say_word(s, s->language->side == SIDE_EN ? en : de);
}

void say_phrase(struct say *s, const struct phrase *p)
{
    if (p)
        say_either(s, p->en, p->de);
}

void say_comma(struct say *s)
{
    s->is_comma_due = true;
}

void say_end(struct say *s, char mark)
{
    s->is_comma_due = false;
    str_putc(s->out, mark);
    if (s->out->bad)
        return;

    /* ä ö ü are C3 A4, B6, BC; like a to z, their capitals are 0x20 below. */
    unsigned char *c = (unsigned char *)s->out->data + s->start;
    if (*c == 0xc3)
        c++;
    if ((*c >= 'a' && *c <= 'z') || *c == 0xa4 || *c == 0xb6 || *c == 0xbc)
        *c = (unsigned char)(*c - 0x20);
}

void say_adverbial(struct say *s, const struct adverbial *a)
{
    say_phrase(s, a->phrase);
    if (a->prep)
        s->language->pp(s, a->prep, a->np);
}

void say_front(struct say *s, const struct clause *c)
{
    if (c->front == FRONT_COMMENT)
        say_phrase(s, c->comment);
    else if (c->front != FRONT_SUBJECT)
        say_adverbial(s, c->front == FRONT_TIME ? &c->time : &c->spot);
}

void say_predicate(struct say *s, const struct clause *c)
{
    if (!c->predicate)
        return;
    say_phrase(s, c->degree);
    if (c->measure)
        s->language->np(s, c->measure, CASE_ACCUSATIVE);
    say_either(s, c->predicate->en, c->predicate->de);
}

void say_complement(struct say *s, const struct clause *c)
{
    const struct link *link = c->complement_link;

    if (!c->complement)
        return;
    s->is_comma_due |= s->language->side == SIDE_DE;
    if (link)
        say_either(s, link->en, link->de);
    s->language->clause(s, c->complement, ORDER_LAST);
    s->is_comma_due |= s->language->side == SIDE_DE;
}

static void say_other(struct say *s, const struct sentence *t)
{
    say_either(s, t->link->en, t->link->de);
    s->language->clause(s, t->other, t->link->order);
}

void say_sentence(const struct language *language, const struct sentence *t,
                  struct str *out)
{
    struct say s = {.language = language, .out = out, .start = out->len};

    if (t->is_other_first) {
        say_other(&s, t);
        say_comma(&s);
    }
    language->clause(&s, t->main,
                     t->is_question      ? ORDER_QUESTION
                     : t->is_other_first ? ORDER_FIRST
                                         : ORDER_SECOND);
    if (t->link && !t->is_other_first) {
        if (language->side == SIDE_EN ? t->link->has_en_comma : t->link->has_de_comma)
            say_comma(&s);
        say_other(&s, t);
    }
    say_end(&s, t->is_question ? '?' : '.');
}
