#include "train/save/state.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* HEX: 64 bits as hexadecimal text, exact in any reader. */
enum kind { INT, HEX, REAL, FLAG };

#define AT(member) offsetof(struct state, member)

static const struct field {
    const char *name;
    enum kind kind;
    size_t at;
    bool may_lack; /* states without it were written: 0, which means not known */
} fields[] = {
    {"step", INT, AT(step)},
    {"epoch", HEX, AT(cursor.epoch)},
    {"next_pair", HEX, AT(cursor.next)},
    {"has_best_loss", FLAG, AT(loss.is_there)},
    {"best_loss", REAL, AT(loss.value)},
    {"best_loss_step", INT, AT(loss.step)},
    {"has_best_bleu", FLAG, AT(bleu.is_there)},
    {"best_bleu", REAL, AT(bleu.value)},
    {"best_bleu_step", INT, AT(bleu.step)},
    {"evals_since_best", INT, AT(evals_since_best)},
    {"skipped", INT, AT(n_skipped)},
    {"skipped_in_a_row", INT, AT(skipped_in_a_row)},
    {"source_tokens", HEX, AT(n_source)},
    {"target_tokens", HEX, AT(n_target)},
    {"seconds", REAL, AT(t_trained)},
    {"corpus_pairs", HEX, AT(corpus_pairs)},
    {"tokenizer_hash", HEX, AT(tokenizer_hash)},
    {"pairs_hash", HEX, AT(pairs_hash), .may_lack = true},
    {"ranks", INT, AT(n_ranks), .may_lack = true},
};

enum { N_FIELDS = sizeof fields / sizeof *fields };

static json_t *value_of(enum kind kind, const void *at)
{
    char hex[24];

    switch (kind) {
    case INT:
        return json_integer(*(const int64_t *)at);
    case HEX:
        snprintf(hex, sizeof hex, "%" PRIx64, *(const uint64_t *)at);
        return json_string(hex);
    case REAL:
        return json_real(*(const double *)at);
    case FLAG:
        break;
    }
    return json_boolean(*(const bool *)at);
}

status state_write(const struct state *s, const char *path, struct err *err)
{
    json_t *o = json_object();

    for (const struct field *f = fields; f < fields + N_FIELDS; f++)
        json_object_set_new(o, f->name, value_of(f->kind, (const char *)s + f->at));
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(o);
    if (!text)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    const status result = file_write(path, text, strlen(text), err);
    free(text);
    return result;
}

static bool take(enum kind kind, void *to, const json_t *v)
{
    const char *text = json_string_value(v);
    const size_t n_digits = text ? strspn(text, "0123456789abcdef") : 0;

    switch (kind) {
    case INT:
        *(int64_t *)to = json_integer_value(v);
        return json_is_integer(v) && json_integer_value(v) >= 0;
    case HEX: /* strtoull() would also take signs, blanks and what does not fit */
        *(uint64_t *)to = n_digits ? strtoull(text, NULL, 16) : 0;
        return n_digits > 0 && n_digits <= 16 && !text[n_digits];
    case REAL:
        *(double *)to = json_number_value(v);
        return json_is_number(v);
    case FLAG:
        break;
    }
    *(bool *)to = json_is_true(v);
    return json_is_boolean(v);
}

status state_parse(struct state *s, const char *path, const void *bytes, size_t n,
                   struct err *err)
{
    json_t *o = json_loadb(bytes, n, 0, NULL);
    const bool is_object = json_is_object(o);
    bool is_whole = is_object;

    *s = (struct state){0};
    for (const struct field *f = fields; f < fields + N_FIELDS; f++) {
        const json_t *v = json_object_get(o, f->name);
        is_whole &= (f->may_lack && !v) || take(f->kind, (char *)s + f->at, v);
    }
    json_decref(o);
    if (is_whole)
        return OK;
    return err_set(err, ERR_FORMAT, "%s: %s", path,
                   is_object ? "a field is missing or malformed"
                             : "not a whole state file");
}

status state_read(struct state *s, const char *path, struct err *err)
{
    struct file_map map;

    *s = (struct state){0};
    TRY(file_map_open(&map, path, err));
    const status result = state_parse(
        s, path, map.data ? map.data : (const unsigned char *)"", map.n_bytes, err);
    file_map_close(&map);
    return result;
}
