#include "train/save/state.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "corpus/checksum.h"

/* Raised when a reader of the version before would go wrong; a new field alone does not
 * raise it. Version 1 had neither this number nor a checksum. */
enum { VERSION = 2 };

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
    {"has_best_chosen", FLAG, AT(chosen.is_there), .may_lack = true},
    {"best_chosen", REAL, AT(chosen.value), .may_lack = true},
    {"best_chosen_step", INT, AT(chosen.step), .may_lack = true},
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
    {"train_hash", HEX, AT(train_hash), .may_lack = true},
    {"micro_tokens", INT, AT(micro_tokens), .may_lack = true},
    {"rest", HEX, AT(rest), .may_lack = true},
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

/* The last field, a checksum of every byte before its name. */
#define SUM_NAME "\"checksum\""

/* The fields without the brace that ends them, then the checksum. */
static status write_text(const char *path, const char *fields_text, struct err *err)
{
    struct str text = str_new(0);

    str_printf(&text, "%.*s,\n ", (int)strlen(fields_text) - 2, fields_text);
    const uint64_t sum = checksum_of(str_text(&text), text.len);
    str_printf(&text, SUM_NAME ": \"%016" PRIx64 "\"\n}", sum);
    const status result = file_write_str(path, &text, err);
    str_release(&text);
    return result;
}

status state_write(const struct state *s, const char *path, struct err *err)
{
    json_t *o = json_object();

    json_object_set_new(o, "version", json_integer(VERSION));
    for (const struct field *f = fields; f < fields + N_FIELDS; f++)
        json_object_set_new(o, f->name, value_of(f->kind, (const char *)s + f->at));
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(o);
    if (!text)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    const status result = write_text(path, text, err);
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

/* Bytes before the name of the checksum; n where there is none. */
static size_t n_covered(const char *text, size_t n)
{
    const size_t n_name = strlen(SUM_NAME);

    for (size_t i = n < n_name ? 0 : n - n_name + 1; i-- > 0;)
        if (memcmp(text + i, SUM_NAME, n_name) == 0)
            return i;
    return n;
}

/* The checksum comes first: of a file that was changed, its version says nothing. */
static status check_whole(const json_t *o, const char *path, const void *bytes, size_t n,
                          struct err *err)
{
    const json_t *version = json_object_get(o, "version");
    const json_t *sum = json_object_get(o, "checksum");
    uint64_t want;

    if (!json_is_object(o))
        return err_set(err, ERR_FORMAT, "%s: not a whole state file", path);
    if (!version && !sum)
        return OK;
    if (!version || !take(HEX, &want, sum) ||
        want != checksum_of(bytes, n_covered(bytes, n)))
        return err_set(err, ERR_FORMAT,
                       "%s: it was changed or damaged, its checksum does not fit", path);
    if (json_is_integer(version) && json_integer_value(version) <= VERSION)
        return OK;
    return err_set(
        err, ERR_USAGE,
        "%s: written by a newer ferry (version %lld of this file, up to %d can "
        "be read); continue with that one, or choose another run directory",
        path, (long long)json_integer_value(version), VERSION);
}

status state_parse(struct state *s, const char *path, const void *bytes, size_t n,
                   struct err *err)
{
    json_t *o = json_loadb(bytes, n, 0, NULL);

    *s = (struct state){0};
    status result = check_whole(o, path, bytes, n, err);
    for (const struct field *f = fields; result == OK && f < fields + N_FIELDS; f++) {
        const json_t *v = json_object_get(o, f->name);
        if (!(v ? take(f->kind, (char *)s + f->at, v) : f->may_lack))
            result = err_set(err, ERR_FORMAT, "%s: the field %s is %s", path, f->name,
                             v ? "malformed" : "missing");
    }
    json_decref(o);
    return result;
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
