/*
 * TMX: <tu> holds one <tuv xml:lang="..."> a language, each with a <seg>. What stands in
 * <bpt>, <ept>, <it>, <ph> and <ut> is code of some editor and no text; <hi> is text. Of
 * several variants in one language the first is taken. A unit that lacks one of the two
 * languages is counted and passed over.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "prepare/source/source.h"

/* What was found of one <tu>. */
struct unit {
    uint64_t line;
    int side;  /* of the <tuv> that is open; -1: of no use, or none is */
    int depth; /* of elements that hold no text */
    bool in_seg;
    bool has[SOURCE_SIDES];
    char langs[256]; /* seen in it, for a message */
};

static bool same_letter(char a, char b)
{
    a = a == '_' ? '-' : (char)tolower((unsigned char)a);
    b = b == '_' ? '-' : (char)tolower((unsigned char)b);
    return a == b;
}

/* "de" wants "de", "de-AT", "DE_ch"; "de-AT" wants only "de-AT". */
static bool is_language(const char *want, const char *is)
{
    size_t i = 0;

    while (want[i] && is[i] && same_letter(want[i], is[i]))
        i++;
    if (want[i])
        return false;
    return !is[i] || ((is[i] == '-' || is[i] == '_') && !strpbrk(want, "-_"));
}

static void note_language(struct unit *u, const char *lang)
{
    const size_t n = strlen(u->langs);

    if (n + strlen(lang) + 3 < sizeof u->langs)
        snprintf(u->langs + n, sizeof u->langs - n, "%s%s", n ? ", " : "", lang);
}

static status open_variant(struct source *s, struct unit *u, struct err *err)
{
    const char *lang = markup_attribute(&s->markup, "xml:lang");

    if (!lang)
        lang = markup_attribute(&s->markup, "lang");
    if (!lang)
        return markup_fail(&s->markup, err, "a <tuv> without xml:lang");
    note_language(u, lang);
    u->side = -1;
    for (int i = 0; i < SOURCE_SIDES; i++)
        if (!u->has[i] && u->side < 0 && is_language(s->options.lang[i], lang))
            u->side = i;
    return OK;
}

static bool is_code(const char *name)
{
    static const char *const codes[] = {"bpt", "ept", "it", "ph", "ut"};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(name, codes[i]) == 0)
            return true;
    return false;
}

static status open_tag(struct source *s, struct unit *u, struct err *err)
{
    const struct markup *m = &s->markup;

    if (strcmp(m->name, "tu") == 0)
        return markup_fail(m, err, "<tu> inside the <tu> of line %llu",
                           (unsigned long long)u->line);
    if (strcmp(m->name, "tuv") == 0)
        return open_variant(s, u, err);
    if (strcmp(m->name, "seg") == 0) {
        if (u->in_seg)
            return markup_fail(m, err, "<seg> inside <seg>");
        u->in_seg = !m->is_empty;
        if (u->side >= 0) {
            str_reset(&s->room[u->side]);
            u->has[u->side] = true;
        }
    }
    if (u->in_seg && is_code(m->name) && !m->is_empty)
        u->depth++;
    return OK;
}

static void close_tag(struct source *s, struct unit *u)
{
    const char *name = s->markup.name;

    if (u->in_seg && is_code(name) && u->depth > 0)
        u->depth--;
    if (strcmp(name, "seg") == 0)
        u->in_seg = false;
    if (strcmp(name, "seg") == 0 || strcmp(name, "tuv") == 0)
        u->depth = 0;
    if (strcmp(name, "tuv") == 0)
        u->side = -1;
}

/* From behind <tu> to </tu>. */
static status read_unit(struct source *s, struct unit *u, struct err *err)
{
    struct markup *m = &s->markup;
    enum markup_event event;

    for (;;) {
        TRY(markup_next(m, &event, err));
        if (event == MARKUP_END)
            return markup_fail(m, err,
                               "the file ends inside the <tu> of line %llu; was it cut?",
                               (unsigned long long)u->line);
        if (event == MARKUP_CLOSE && strcmp(m->name, "tu") == 0)
            return OK;
        if (event == MARKUP_OPEN)
            TRY(open_tag(s, u, err));
        else if (event == MARKUP_CLOSE)
            close_tag(s, u);
        else if (u->in_seg && u->side >= 0 && u->depth == 0)
            source_add(s, u->side);
    }
}

/* The whole file had units, none of them with both languages. */
static status check_languages(const struct source *s, const char *langs, struct err *err)
{
    if (s->n_rows || !s->n_skipped)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "%s: none of its %llu units has both '%s' and '%s'; the last one has: "
                   "%s",
                   s->markup.file.in.name, (unsigned long long)s->n_skipped,
                   s->options.lang[0], s->options.lang[1], langs);
}

status source_tmx_next(struct source *s, bool *has, struct err *err)
{
    struct markup *m = &s->markup;
    struct unit u = {0};
    enum markup_event event;

    for (*has = false; !*has;) {
        TRY(markup_next(m, &event, err));
        if (event == MARKUP_END && s->has_document)
            return markup_fail(m, err, "the file ends inside <tmx>; was it cut?");
        if (event == MARKUP_END)
            return check_languages(s, u.langs, err);
        if (event != MARKUP_TEXT && strcmp(m->name, "tmx") == 0)
            s->has_document = event == MARKUP_OPEN;
        if (event != MARKUP_OPEN || strcmp(m->name, "tu") != 0 || m->is_empty)
            continue;
        u = (struct unit){.line = m->line, .side = -1};
        s->is_cut = false;
        TRY(read_unit(s, &u, err));
        *has = u.has[0] && u.has[1];
        s->n_skipped += !*has;
    }
    s->line = u.line;
    for (int i = 0; i < SOURCE_SIDES; i++) {
        source_finish(s, i);
        TRY(str_check(&s->room[i], s->markup.file.in.name, err));
    }
    return OK;
}
