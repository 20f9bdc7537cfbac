/*
 * WMT's test sets. The older form has one file a side,
 *
 *   <refset setid="newstest2014" srclang="any" trglang="de">
 *   <doc sysid="ref" docid="..."><p><seg id="1">...</seg></p></doc></refset>
 *
 * and may hold several references one after the other: the sysid of the first document
 * is taken, others are passed over. The newer form (2021 on) has both sides in one file,
 * <src> and <ref translator="A"> inside each <doc>: the first <ref> of a document is
 * taken, translations of systems (<hyp>) never.
 */
#include <string.h>

#include "prepare/source/source.h"

static void open_document(struct source *s)
{
    char system[SOURCE_ID_MAX];

    source_id(system, markup_attribute(&s->markup, "sysid"));
    source_id(s->doc, markup_attribute(&s->markup, "docid"));
    if (!s->doc[0])
        source_id(s->doc, markup_attribute(&s->markup, "id"));
    if (!s->has_document)
        memcpy(s->system, system, sizeof system);
    s->has_document = true;
    s->in_other = strcmp(system, s->system) != 0;
    s->is_done_ref = s->is_new_style = false;
}

/* <src>, <ref> and <hyp> of the newer form. */
static void open_side(struct source *s)
{
    const char *name = s->markup.name;
    const bool is_src = strcmp(name, "src") == 0, is_ref = strcmp(name, "ref") == 0;

    s->is_new_style = true;
    s->is_wanted = s->options.side == 0 ? is_src : is_ref && !s->is_done_ref;
    s->is_done_ref |= is_ref;
}

static bool is_side(const char *name)
{
    return !strcmp(name, "src") || !strcmp(name, "ref") || !strcmp(name, "hyp");
}

/* Whether the segment that opens here is one to hand out. */
static bool is_wanted(const struct source *s)
{
    return !s->in_other && (!s->is_new_style || s->is_wanted);
}

/* The text up to </seg>. */
static status read_segment(struct source *s, struct err *err)
{
    struct markup *m = &s->markup;
    const uint64_t line = m->line;
    enum markup_event event;

    source_id(s->id, markup_attribute(m, "id"));
    str_reset(&s->room[0]);
    s->is_cut = false;
    for (bool is_open = !m->is_empty; is_open;) {
        TRY(markup_next(m, &event, err));
        if (event == MARKUP_TEXT)
            source_add(s, 0);
        if (event == MARKUP_CLOSE && strcmp(m->name, "seg") == 0)
            is_open = false;
        else if (event == MARKUP_END)
            return markup_fail(m, err,
                               "the file ends inside the <seg> of line %llu; was it cut?",
                               (unsigned long long)line);
        else if (event != MARKUP_TEXT &&
                 (!strcmp(m->name, "seg") || !strcmp(m->name, "doc")))
            return markup_fail(m, err, "<%s%s> inside the <seg> of line %llu",
                               event == MARKUP_CLOSE ? "/" : "", m->name,
                               (unsigned long long)line);
    }
    s->line = line;
    source_finish(s, 0);
    return str_check(&s->room[0], s->markup.file.in.name, err);
}

static status at_end(const struct source *s, struct err *err)
{
    if (s->doc[0])
        return markup_fail(&s->markup, err,
                           "the file ends inside document '%s'; was it cut?", s->doc);
    return OK;
}

status source_sgm_next(struct source *s, bool *has, struct err *err)
{
    struct markup *m = &s->markup;
    enum markup_event event;

    for (*has = false; !*has;) {
        TRY(markup_next(m, &event, err));
        if (event == MARKUP_END)
            return at_end(s, err);
        if (event == MARKUP_CLOSE && strcmp(m->name, "doc") == 0)
            s->doc[0] = '\0';
        else if (event == MARKUP_CLOSE && is_side(m->name))
            s->is_wanted = false;
        if (event != MARKUP_OPEN)
            continue;
        if (strcmp(m->name, "doc") == 0)
            open_document(s);
        else if (is_side(m->name))
            open_side(s);
        else if (strcmp(m->name, "seg") == 0) {
            *has = is_wanted(s);
            TRY(read_segment(s, err));
        }
    }
    return OK;
}
