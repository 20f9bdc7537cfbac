/* Files of tensors as other programs read them: bytes that their own readers have
 * accepted (tests/interop/export.sh), and our readers' view of them. */
#include "test.h"

#include "format/foreign/tensors_list.h"
#include "format/le.h"
#include "small_pack.h"

static struct err err;

/* Tensor i counts from 100 i in its own type. */
static status count(void *ctx, size_t i, unsigned char *bytes, struct err *e)
{
    const struct tensors_item *item = &((const struct tensors_list *)ctx)->item[i];

    (void)e;
    for (size_t k = 0; k < item->n; k++)
        switch (item->type) {
        case TENSORS_F32:
            le_put32(bytes + 4 * k, (uint32_t)(0x3f800000 + 0x800000 * (i + k)));
            break;
        case TENSORS_I16:
        case TENSORS_F16:
            le_put16(bytes + 2 * k, (uint16_t)(100 * i + k));
            break;
        default:
            bytes[k] = (unsigned char)(100 * i + k);
        }
    return OK;
}

static void make(struct tensors_list *l, bool has_scalar)
{
    CHECK_OK(tensors_list_add(l, "a.weight", TENSORS_F32, (uint64_t[]){2, 3}, 2, &err),
             &err);
    CHECK_OK(tensors_list_add(l, "special:text", TENSORS_I8, (uint64_t[]){5}, 1, &err),
             &err);
    CHECK_OK(
        tensors_list_add(l, "b/f\xc3\xbcnf", TENSORS_I16, (uint64_t[]){1, 3}, 2, &err),
        &err);
    if (has_scalar)
        CHECK_OK(tensors_list_add(l, "one", TENSORS_I16, NULL, 0, &err), &err);
}

static void check_golden(enum tensors_format format, const char *name, bool has_alias)
{
    struct tensors_list l = {0};
    struct tensors t;
    size_t n, n_golden;

    make(&l, format != TENSORS_NPZ);
    if (has_alias)
        CHECK_OK(tensors_list_alias(&l, "other", 0, &err), &err);
    CHECK_OK(tensors_write(&l, format, test_path(name), count, &l, &err), &err);
    unsigned char *bytes = small_pack_copy(test_path(name), &n),
                  *golden = small_pack_copy(test_data(name), &n_golden);
    CHECK(n == n_golden && memcmp(bytes, golden, n) == 0);
    free(bytes);
    free(golden);
    CHECK_OK(tensors_open(&t, format, test_path(name), &err), &err);
    CHECK(t.n == l.n + l.n_aliases);
    for (size_t i = 0; i < l.n; i++) {
        const struct tensors_item *item = tensors_find(&t, l.item[i].name);
        CHECK(item && item->type == l.item[i].type && item->n_dims == l.item[i].n_dims);
        CHECK(memcmp(item->dim, l.item[i].dim, item->n_dims * sizeof *item->dim) == 0);
    }
    CHECK_NEAR(tensors_value(tensors_find(&t, "a.weight"), 5), 32, 0);
    CHECK_NEAR(tensors_value(tensors_find(&t, "b/f\xc3\xbcnf"), 1), 201, 0);
    if (has_alias)
        CHECK_NEAR(tensors_value(tensors_find(&t, "other"), 5), 32, 0);
    tensors_close(&t);
    tensors_list_release(&l);
}

TEST(safetensors_are_these_bytes)
{
    check_golden(TENSORS_SAFETENSORS, "export.safetensors", false);
}

TEST(npz_is_these_bytes)
{
    check_golden(TENSORS_NPZ, "export.npz", false);
}

TEST(a_model_of_ctranslate2_is_these_bytes)
{
    check_golden(TENSORS_CTRANSLATE2, "export.ctranslate2", true);
}

static status stop(void *ctx, size_t i, unsigned char *bytes, struct err *e)
{
    (void)ctx, (void)bytes;
    return i == 1 ? err_set(e, ERR_NUMERIC, "no second tensor") : OK;
}

TEST(a_file_that_fails_is_not_there)
{
    struct tensors_list l = {0};

    make(&l, true);
    CHECK_FAILS(tensors_write(&l, TENSORS_SAFETENSORS, test_path("x"), stop, NULL, &err),
                &err, ERR_NUMERIC, "no second tensor");
    CHECK(!file_exists(test_path("x")));
    tensors_list_release(&l);
}
