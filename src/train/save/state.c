#include "train/save/state.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* JSON name, kind, lvalue. U: 64 bits as hexadecimal text, exact in any reader. */
#define STATE_FIELDS(I, U, R, B)               \
    I("step", s->step)                         \
    U("epoch", s->cursor.epoch)                \
    U("next_pair", s->cursor.next)             \
    B("has_best_loss", s->loss.is_there)       \
    R("best_loss", s->loss.value)              \
    I("best_loss_step", s->loss.step)          \
    B("has_best_bleu", s->bleu.is_there)       \
    R("best_bleu", s->bleu.value)              \
    I("best_bleu_step", s->bleu.step)          \
    I("evals_since_best", s->evals_since_best) \
    I("skipped", s->n_skipped)                 \
    I("skipped_in_a_row", s->skipped_in_a_row) \
    U("source_tokens", s->n_source)            \
    U("target_tokens", s->n_target)            \
    R("seconds", s->t_trained)                 \
    U("corpus_pairs", s->corpus_pairs)         \
    U("tokenizer_hash", s->tokenizer_hash)

static json_t *hex(uint64_t x)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIx64, x);
    return json_string(text);
}

status state_write(const struct state *s, const char *path, struct err *err)
{
    json_t *o = json_object();

#define I(name, x) json_object_set_new(o, name, json_integer((json_int_t)(x)));
#define U(name, x) json_object_set_new(o, name, hex(x));
#define R(name, x) json_object_set_new(o, name, json_real(x));
#define B(name, x) json_object_set_new(o, name, json_boolean(x));
    STATE_FIELDS(I, U, R, B)
#undef I
#undef U
#undef R
#undef B
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(o);
    if (!text)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    const status result = file_write(path, text, strlen(text), err);
    free(text);
    return result;
}

static bool get_int(const json_t *o, const char *name, int64_t *x)
{
    const json_t *v = json_object_get(o, name);

    *x = (int64_t)json_integer_value(v);
    return json_is_integer(v) && *x >= 0;
}

/* Digits alone: strtoull() would also take signs, blanks and what does not fit. */
static bool get_hex(const json_t *o, const char *name, uint64_t *x)
{
    const char *text = json_string_value(json_object_get(o, name));
    const size_t n = text ? strspn(text, "0123456789abcdef") : 0;

    *x = n ? strtoull(text, NULL, 16) : 0;
    return n > 0 && n <= 16 && !text[n];
}

static bool get_real(const json_t *o, const char *name, double *x)
{
    const json_t *v = json_object_get(o, name);

    *x = json_number_value(v);
    return json_is_number(v);
}

static bool get_bool(const json_t *o, const char *name, bool *x)
{
    const json_t *v = json_object_get(o, name);

    *x = json_is_true(v);
    return json_is_boolean(v);
}

status state_parse(struct state *s, const char *path, const void *bytes, size_t n,
                   struct err *err)
{
    json_t *o = json_loadb(bytes, n, 0, NULL);
    bool whole = true;

    *s = (struct state){0};
    if (!json_is_object(o)) {
        json_decref(o);
        return err_set(err, ERR_FORMAT, "%s: not a whole state file", path);
    }
#define I(name, x) whole = get_int(o, name, &(x)) && whole;
#define U(name, x) whole = get_hex(o, name, &(x)) && whole;
#define R(name, x) whole = get_real(o, name, &(x)) && whole;
#define B(name, x) whole = get_bool(o, name, &(x)) && whole;
    STATE_FIELDS(I, U, R, B)
#undef I
#undef U
#undef R
#undef B
    json_decref(o);
    if (!whole)
        return err_set(err, ERR_FORMAT, "%s: a field is missing or malformed", path);
    return OK;
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
