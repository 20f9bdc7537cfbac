#include "adapt/gain.h"

#include <math.h>
#include <string.h>

#include "decode/loaded.h"
#include "score/bleu.h"
#include "score/chrf.h"

/* ---- measured ---- */

static status score(struct gain_score *to, const struct translations *found,
                    const struct dataset_set *set, struct err *err)
{
    const struct bleu_options how_bleu = {0};
    const struct chrf_options how_chrf = CHRF_OPTIONS;
    struct bleu_stats bleu = {0};
    struct chrf_stats chrf = {0};

    for (size_t i = 0; i < set->source.n; i++) {
        const char *text = translate_get(found, i, 0);
        const struct line hyp = {text, strlen(text)};
        TRY(bleu_add(&bleu, &how_bleu, hyp, &set->target.line[i], 1, err));
        TRY(chrf_add(&chrf, &how_chrf, hyp, &set->target.line[i], 1, err));
    }
    *to = (struct gain_score){true, bleu_score(&bleu, &how_bleu).score,
                              chrf_score(&chrf, &how_chrf)};
    return OK;
}

static status translate(struct loaded *l, struct translations *found,
                        const struct dataset_set *set, struct progress *progress,
                        struct err *err)
{
    struct translate_config how;
    struct translator t = {0};

    TRY(opt_defaults(translate_config_table, &how, err));
    how.split = false; /* a line of the set is a sentence */
    status result = loaded_translator(l, &t, &how, NULL, err);
    t.progress = progress;
    progress_begin(progress, "translating", "lines", set->source.n);
    THEN(result, translate_lines(&t, set->source.line, set->source.n, found, err));
    progress_end(progress, set->source.n);
    translate_close(&t);
    return result;
}

status gain_measure(struct gain_score *to, const char *model,
                    const struct dataset_set *set, struct gain_how how, struct err *err)
{
    RELEASED_BY(loaded_close) struct loaded l = {0};
    RELEASED_BY(translate_release) struct translations found = {0};

    TRY(loaded_open(&l, model,
                    (struct loaded_options){.checkpoint = how.checkpoint,
                                            .average = true,
                                            .device = "cpu",
                                            .n_threads = how.n_threads,
                                            .has_shortlist = true},
                    err));
    TRY(translate(&l, &found, set, how.progress, err));
    return score(to, &found, set, err);
}

/* ---- said ---- */

void gain_signatures(struct str *out)
{
    const struct bleu_options bleu = {0};
    const struct chrf_options chrf = CHRF_OPTIONS;
    const struct chrf_stats none = {0};

    str_puts(out, "BLEU ");
    bleu_signature(out, &bleu, 1);
    RELEASED_BY(result_release) struct result r = chrf_result(&none, &chrf, 1);
    str_printf(out, ", %s %s", str_text(&r.name), str_text(&r.signature));
}

static void put_score(struct str *out, const struct gain_score *b,
                      const struct gain_score *a, bool is_chrf, bool is_markdown)
{
    const double before = is_chrf ? b->chrf : b->bleu,
                 after = is_chrf ? a->chrf : a->bleu;
    const char *const gap = is_markdown ? " | " : "  ";

    str_printf(out, "%s%6.2f", gap, before);
    if (a->is_there)
        str_printf(out, "%s%6.2f%s%+6.2f", gap, after, gap, after - before);
    else
        str_printf(out, "%s%6s%s%6s", gap, "-", gap, "-");
}

void gain_table(struct str *out, const struct gain *gains, size_t n, bool is_markdown)
{
    if (is_markdown)
        str_puts(out,
                 "| text | test pairs | BLEU before | after | change | chrF before | "
                 "after | change |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
    else
        str_puts(out,
                 "text      pairs    BLEU   after  change    chrF   after  change\n");
    for (size_t i = 0; i < n; i++) {
        const struct gain *g = &gains[i];
        if (is_markdown)
            str_printf(out, "| %s | %zu", g->text, g->n_pairs);
        else
            str_printf(out, "%-7s  %6zu", g->text, g->n_pairs);
        put_score(out, &g->before, &g->after, false, is_markdown);
        put_score(out, &g->before, &g->after, true, is_markdown);
        str_puts(out, is_markdown ? " |\n" : "\n");
    }
}

/* ---- kept ---- */

json_t *gain_json(const struct gain_score *s)
{
    return s->is_there ? json_pack("{s:f, s:f}", "bleu", s->bleu, "chrf", s->chrf) : NULL;
}

struct gain_score gain_of_json(const json_t *json)
{
    const json_t *bleu = json_object_get(json, "bleu");
    const json_t *chrf = json_object_get(json, "chrf");

    return (struct gain_score){json_is_number(bleu) && json_is_number(chrf),
                               json_number_value(bleu), json_number_value(chrf)};
}
