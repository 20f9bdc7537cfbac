/* What models of others take of memory: so many bytes for each of the file, whatever is
 * in it. */
#include "heap_count.h"
#include "test.h"

#include "base/str.h"
#include "foreign/export.h"
#include "foreign/fill.h"
#include "format/foreign/pickle.h"
#include "format/foreign/yaml_pairs.h"
#include "made_zip.h"
#include "toy_model.h"

static struct err err;

enum { MANY = 20000 };

/* What is held since `before` at most, for each of n bytes. */
static void check_most(const char *what, long long before, size_t n, long long most)
{
    const long long held = atomic_load(&heap_most) - before;

    printf("%s: %.1f bytes for each of %zu\n", what, (double)held / (double)n, n);
    if (held > most * (long long)n)
        test_fail(__FILE__, __LINE__, "%s: %lld bytes for %zu", what, held, n);
}

static void parse(const char *what, enum tensors_format format, struct str *bytes)
{
    const long long before = heap_begin();
    struct tensors t;

    if (tensors_parse(&t, format, bytes->data, bytes->len, &err) == OK)
        tensors_close(&t);
    check_most(what, before, bytes->len, TENSORS_MEMORY);
    str_release(bytes);
}

static void put_name(struct str *out, const char *name)
{
    made_zip_put(out, strlen(name) + 1, 2);
    str_add(out, name, strlen(name) + 1);
}

/* Tensors of no numbers, and other names of one that has a scale. */
static struct str ctranslate2(size_t n_tensors, size_t n_aliases)
{
    struct str s = str_new(0);
    char name[16];

    made_zip_put(&s, 6, 4);
    put_name(&s, "T");
    made_zip_put(&s, 1, 4);
    made_zip_put(&s, n_tensors + 2, 4);
    for (size_t i = 0; i < n_tensors + 2; i++) {
        snprintf(name, sizeof name, "t%zx", i);
        put_name(&s, i == 0 ? "a" : i == 1 ? "a_scale" : name);
        made_zip_put(&s, 1, 1); /* one side of 0 */
        made_zip_put(&s, 0, 4 + 1 + 4);
    }
    made_zip_put(&s, n_aliases, 4);
    for (size_t i = 0; i < n_aliases; i++) {
        snprintf(name, sizeof name, "x%zx", i);
        put_name(&s, name);
        put_name(&s, "a");
    }
    return s;
}

/* "before", "each" MANY times with %zu for its number, "behind" */
static struct str safetensors(const char *before, const char *each, const char *behind)
{
    struct str s = str_new(0), head = str_new(0);

    str_puts(&head, before);
    for (size_t i = 0; i < MANY; i++) {
        const char *hole = strstr(each, "%zu");
        str_puts(&head, i ? "," : "");
        if (hole)
            str_printf(&head, "%.*s%zu%s", (int)(hole - each), each, i, hole + 3);
        else
            str_puts(&head, each);
    }
    str_puts(&head, behind);
    made_zip_put(&s, head.len, 8);
    str_add(&s, head.data, head.len);
    str_release(&head);
    return s;
}

TEST(descriptions_take_as_much_memory_as_is_said)
{
    struct str s;

    if (!HEAP_HAS_BYTES)
        test_skip("a sanitizer's heap does not count bytes");
    s = ctranslate2(MANY, 0);
    parse("model.bin of empty tensors", TENSORS_CTRANSLATE2, &s);
    s = ctranslate2(0, MANY);
    parse("model.bin of other names", TENSORS_CTRANSLATE2, &s);
    s = safetensors("{\"a\":[", "{}", "]}");
    parse("safetensors of empty objects", TENSORS_SAFETENSORS, &s);
    s = safetensors("{\"a\":[", "[]", "]}");
    parse("safetensors of empty lists", TENSORS_SAFETENSORS, &s);
    s = safetensors("{\"a\":[", "0", "]}");
    parse("safetensors of numbers", TENSORS_SAFETENSORS, &s);
    s = safetensors("{", "\"%zu\":{}", "}");
    parse("safetensors of keys", TENSORS_SAFETENSORS, &s);
    s = safetensors(
        "{", "\"%zu\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", "}");
    parse("safetensors of empty tensors", TENSORS_SAFETENSORS, &s);
}

TEST(pickles_take_as_much_memory_as_is_said)
{
    static const char *const each[] = {")", "}", "(", ")\x94", ")a", "K\1"};

    if (!HEAP_HAS_BYTES)
        test_skip("a sanitizer's heap does not count bytes");
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        struct str s = str_new(0);
        struct pickle p;
        str_putc(&s, ']');
        for (size_t i = 0; i < 10 * MANY; i++)
            str_puts(&s, each[k]);
        const long long before = heap_begin();
        if (pickle_read(&p, s.data, s.len, &err) == OK)
            pickle_close(&p);
        check_most("a pickle", before, s.len, TENSORS_MEMORY);
        str_release(&s);
    }
}

/* In int8. */
static void write_model(const char *dir)
{
    const struct export_options o = {
        .to = "ctranslate2", .type = "int8", .made_by = "test"};
    struct foreign f = {.spm = toy_model_spm()};
    struct str notes = str_new(0);

    f.config = toy_model_config(spm_size(f.spm));
    f.config.d_model = f.config.d_ff = 128;
    f.config.decoder_layers = 1;
    f.config.arch.positions = POSITIONS_LEARNED;
    f.config.arch.max_positions = 32;
    CHECK_OK(params_open(&f.params, &f.config, &err), &err);
    f.flat = toy_model_weights(&f.params, 5);
    CHECK_OK(export_write(&f, &o, dir, &notes, &err), &err);
    str_release(&notes);
    foreign_close(&f);
}

/* The model's file with every tensor of its first layers as one of `n` layers too. */
static struct str with_layers(const char *path, size_t n)
{
    struct tensors t;
    struct str bytes = str_new(0);
    size_t n_more = 0, end = 0;

    CHECK_OK(tensors_open(&t, TENSORS_CTRANSLATE2, path, &err), &err);
    str_add(&bytes, t.map.data, t.map.n_bytes);
    for (size_t i = 0; i < t.n; i++) {
        const struct tensors_item *item = &t.item[i];
        const size_t at = (size_t)(item->bytes - (const unsigned char *)t.map.data) +
                          item->n * tensors_type_bytes(item->type);
        const char *hole = strstr(item->name, "layer_0/");
        end = at > end ? at : end;
        for (size_t layer = 1; hole && layer < n && !str_ends(item->name, "_scale");
             layer++, n_more++) {
            char name[160];
            snprintf(name, sizeof name, "%.*slayer_%zu/%s", (int)(hole - item->name),
                     item->name, layer, hole + strlen("layer_0/"));
            put_name(&bytes, name);
            put_name(&bytes, item->name);
        }
    }
    uint32_t n_aliases;
    memcpy(&n_aliases, bytes.data + end, sizeof n_aliases);
    n_aliases += (uint32_t)n_more;
    memcpy(bytes.data + end, &n_aliases, sizeof n_aliases);
    tensors_close(&t);
    return bytes;
}

static status take_nothing(void *ctx, struct line key, struct line value, struct err *e)
{
    (void)ctx, (void)key, (void)value, (void)e;
    return OK;
}

TEST(yaml_takes_as_much_memory_as_is_said)
{
    static const char *const each[] = {"a: 1\n", "? ", "a: [", "- ", "{a", "a: |\n x\n"};

    if (!HEAP_HAS_BYTES)
        test_skip("a sanitizer's heap does not count bytes");
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        struct str s = str_new(0);
        for (size_t i = 0; i < 10 * MANY; i++)
            str_puts(&s, each[k]);
        const long long before = heap_begin();
        (void)!yaml_pairs_read(s.data, s.len, take_nothing, NULL, &err);
        check_most("YAML", before, s.len, TENSORS_MEMORY);
        str_release(&s);
    }
}

TEST(weights_take_as_much_memory_as_is_said)
{
    for (size_t n = 1; n <= 64; n *= 8) {
        char dir[FILE_PATH_MAX], path[FILE_PATH_MAX + 16], name[16];
        struct foreign f;
        snprintf(name, sizeof name, "model%zu", n);
        snprintf(dir, sizeof dir, "%s", test_path(name));
        snprintf(path, sizeof path, "%s/model.bin", dir);
        write_model(dir);
        struct str bytes = with_layers(path, n);
        CHECK_OK(file_write(path, bytes.data, bytes.len, &err), &err);
        const long long before = heap_begin();
        if (n < 64) {
            CHECK_OK(foreign_open(&f, dir, &err), &err);
            CHECK(f.config.encoder_layers == (int64_t)n);
            foreign_close(&f);
        } else {
            CHECK_FAILS(foreign_open(&f, dir, &err), &err, ERR_FORMAT,
                        "more than 64 for each byte of the file");
        }
        if (HEAP_HAS_BYTES)
            check_most("weights", before, bytes.len, FILL_MEMORY);
        str_release(&bytes);
    }
}
