#include "fetch/debian_pairs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/sha256.h"

enum { HELD_OUT = 50 }; /* one package in so many is in valid, and one in test */

enum fetch_set debian_pairs_set_of(const char *package, size_t n)
{
    struct sha256 s;
    uint8_t hash[SHA256_BYTES];

    sha256_init(&s);
    sha256_add(&s, package, n);
    sha256_end(&s, hash);
    switch (((uint32_t)hash[0] << 8 | hash[1]) % HELD_OUT) {
    case 0:
        return FETCH_VALID;
    case 1:
        return FETCH_TEST;
    default:
        return FETCH_TRAIN;
    }
}

static uint64_t hash_of(const char *text, int salt)
{
    return table_mix(table_hash(text, strlen(text)) + (uint64_t)salt,
                     0x9E3779B97F4A7C15u);
}

void debian_pairs_init(struct debian_pairs *p)
{
    *p = (struct debian_pairs){.text = str_new(0)};
}

void debian_pairs_release(struct debian_pairs *p)
{
    str_release(&p->text);
    free(p->pair);
    table_set_release(&p->seen);
    *p = (struct debian_pairs){0};
}

static bool has_letter(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s >= 0x80 || (*s >= 'a' && *s <= 'z') ||
            (*s >= 'A' && *s <= 'Z'))
            return true;
    return false;
}

status debian_pairs_add(struct debian_pairs *p, enum fetch_set set,
                        const char *const text[N_FETCH_SIDES], struct err *err)
{
    if (!has_letter(text[FETCH_EN]) || !has_letter(text[FETCH_DE]) ||
        strstr(text[FETCH_DE], "<trans>")) { /* a mark of sentences left untranslated */
        p->n_empty++;
        return OK;
    }
    if (strcmp(text[FETCH_EN], text[FETCH_DE]) == 0) {
        p->n_equal++;
        return OK;
    }
    const uint64_t hash =
        table_mix(hash_of(text[FETCH_EN], FETCH_EN), hash_of(text[FETCH_DE], FETCH_DE));
    if (table_set_has(&p->seen, hash)) {
        p->n_again++;
        return OK;
    }
    TRY(table_set_add(&p->seen, hash, err));
    TRY(mem_grow(&p->pair, &p->cap, p->n + 1, sizeof *p->pair, err));
    struct debian_pair *pair = &p->pair[p->n++];
    pair->set = set;
    for (int s = 0; s < N_FETCH_SIDES; s++) {
        pair->at[s] = p->text.len;
        str_add(&p->text, text[s], strlen(text[s]) + 1);
    }
    return str_check(&p->text, "the text of all descriptions", err);
}

static bool shares_side(const struct table_set *s, const struct debian_pairs *p,
                        const struct debian_pair *pair)
{
    return table_set_has(s, hash_of(p->text.data + pair->at[FETCH_EN], FETCH_EN)) ||
           table_set_has(s, hash_of(p->text.data + pair->at[FETCH_DE], FETCH_DE));
}

/* Both sides of every pair of `set`. */
static status see_set(struct table_set *s, const struct debian_pairs *p,
                      enum fetch_set set, struct err *err)
{
    for (size_t i = 0; i < p->n; i++)
        for (int side = 0; p->pair[i].set == set && side < N_FETCH_SIDES; side++)
            TRY(table_set_add(s, hash_of(p->text.data + p->pair[i].at[side], side), err));
    return OK;
}

status debian_pairs_part(struct debian_pairs *p, uint64_t n_left[N_FETCH_SETS],
                         struct err *err)
{
    struct table_set sides = {0};
    status result = OK;

    for (enum fetch_set set = 0; set < N_FETCH_SETS && result == OK; set++) {
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++) {
            const bool is_shared =
                p->pair[i].set == set && shares_side(&sides, p, &p->pair[i]);
            p->n_shared += is_shared;
            if (!is_shared)
                p->pair[n++] = p->pair[i];
        }
        p->n = n;
        result = see_set(&sides, p, set, err);
    }
    table_set_release(&sides);
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        n_left[set] = 0;
    for (size_t i = 0; i < p->n; i++)
        n_left[p->pair[i].set]++;
    return result;
}
