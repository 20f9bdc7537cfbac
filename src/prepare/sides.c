#include "prepare/sides.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

status sides_open(struct sides *s, struct err *err)
{
    for (int side = 0; side < PAIRS_SIDES; side++) {
        TRY(language_open(&s->beginning[side], err));
        for (int set = 0; set < N_PREPARE_SETS; set++)
            TRY(language_open(&s->language[set][side], err));
    }
    return mem_alloc(&s->counts, PAIRS_SIDES, sizeof *s->counts, err);
}

void sides_close(struct sides *s)
{
    for (int side = 0; side < PAIRS_SIDES; side++) {
        language_close(&s->beginning[side]);
        for (int set = 0; set < N_PREPARE_SETS; set++)
            language_close(&s->language[set][side]);
    }
    free(s->counts);
    s->counts = NULL;
}

void sides_add(struct language to[PAIRS_SIDES], const struct line line[PAIRS_SIDES])
{
    for (int side = 0; side < PAIRS_SIDES; side++)
        language_add(&to[side], line[side]);
}

void sides_add_training(struct sides *s, const struct line line[PAIRS_SIDES])
{
    sides_add(s->language[PREPARE_TRAIN], line);
    for (int side = 0; side < PAIRS_SIDES; side++)
        profile_count(&s->counts[side], line[side]);
}

static bool is_swapped(const struct language set[PAIRS_SIDES],
                       const struct language train[PAIRS_SIDES])
{
    const double margin = 0.1;
    bool is = true;

    for (int side = 0; side < PAIRS_SIDES; side++)
        is &= language_similar(&set[side], &train[!side]) >
              language_similar(&set[side], &train[side]) + margin;
    return is;
}

status sides_check(const struct sides *s, const struct language train[PAIRS_SIDES],
                   const struct pairs input[N_PREPARE_SETS], struct err *err)
{
    for (enum prepare_set set = PREPARE_VALID; set < N_PREPARE_SETS; set++) {
        if (!input[set].n_files || !is_swapped(s->language[set], train))
            continue;
        const struct pairs_file *f = &input[set].file[0];
        return err_set(
            err, ERR_USAGE,
            "the sides of the %s set are swapped: the source in %s is like the "
            "training text's target, and the target in %s like its source; "
            "swap them, or say check_sides=false",
            set == PREPARE_VALID ? "validation" : "test", f->path[PAIRS_SOURCE],
            f->path[PAIRS_TARGET]);
    }
    return OK;
}

void sides_name(const struct sides *s, const struct prepare_config *c,
                struct prepare_language language[PAIRS_SIDES])
{
    const char *const given[] = {c->source_lang, c->target_lang};

    for (int side = 0; side < PAIRS_SIDES; side++) {
        struct prepare_language *l = &language[side];
        l->guess = language_guess(&s->language[PREPARE_TRAIN][side]);
        snprintf(l->name, sizeof l->name, "%.15s",
                 *given[side] ? given[side] : l->guess.name);
    }
}

status sides_profiles(const struct sides *s,
                      const struct prepare_language language[PAIRS_SIDES],
                      struct str *out, struct err *err)
{
    RELEASED_BY(profile_release) struct profiles all = {0};

    for (int side = 0; side < PAIRS_SIDES; side++)
        TRY(profile_add(&all, language[side].name, &s->counts[side], err));
    return all.n ? profile_write(out, &all, err) : OK;
}
