#include "prepare/clean/profile.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "corpus/checksum.h"

/* A side is foreign from three words on whose mean log odds pass this. */
#define FOREIGN_ODDS 1.0
enum { FOREIGN_WORDS = 3 };

status profile_open(struct profile *p, struct err *err)
{
    *p = (struct profile){0};
    for (int s = 0; s < 2; s++)
        if (mem_alloc(&p->count[s], PROFILE_SLOTS, sizeof *p->count[s], err) != OK) {
            profile_close(p);
            return err->code;
        }
    return OK;
}

void profile_close(struct profile *p)
{
    free(p->count[0]);
    free(p->count[1]);
    *p = (struct profile){0};
}

/* The slot of the next word of a line; false at its end. */
static bool next_slot(struct line text, size_t *at, size_t *slot)
{
    size_t from, len = 1;

    while (*at < text.n_bytes &&
           utf8_is_space(utf8_decode(text.text + *at, text.n_bytes - *at, &len)))
        *at += len;
    for (from = *at; *at < text.n_bytes; *at += len)
        if (utf8_is_space(utf8_decode(text.text + *at, text.n_bytes - *at, &len)))
            break;
    *slot = checksum_of(text.text + from, *at - from) % PROFILE_SLOTS;
    return *at > from;
}

void profile_add(struct profile *p, struct line text, int side)
{
    size_t at = 0, slot;

    while (next_slot(text, &at, &slot)) {
        p->count[side][slot] += p->count[side][slot] < UINT32_MAX;
        p->n_words[side]++;
    }
}

static double log_share(const struct profile *p, int side, size_t slot)
{
    return log(((double)p->count[side][slot] + 0.5) /
               ((double)p->n_words[side] + 0.5 * PROFILE_SLOTS));
}

bool profile_is_foreign(const struct profile *p, struct line text, int side)
{
    size_t at = 0, slot, n = 0;
    double odds = 0;

    for (; next_slot(text, &at, &slot); n++)
        odds += log_share(p, !side, slot) - log_share(p, side, slot);
    return n >= FOREIGN_WORDS && odds > FOREIGN_ODDS * (double)n;
}
