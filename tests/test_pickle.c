/* Pickles: dictionaries of tensors are read; whatever would call something is refused by
 * its name, and nothing is called. */
#include "format/foreign/pickle.h"

#include "test.h"

static struct err err;

#define GLOBAL(module, name) "c" module "\n" name "\n"
/* "name": _rebuild_tensor_v2(("storage", FloatStorage, "0", "cpu", 12), 2, (2, 3), (3,
 * 1)) */
#define STORAGE                                                     \
    "(X\7\0\0\0storage" GLOBAL("torch", "FloatStorage") "X\1\0\0\0" \
                                                        "0X\3\0\0\0cpuK\014tQ"
#define TENSOR                                                                           \
    GLOBAL("torch._utils", "_rebuild_tensor_v2")                                         \
    "(" STORAGE "K\2K\2K\3\206K\3K\1\206\211" GLOBAL("collections", "OrderedDict") ")Rt" \
                                                                                   "R"
#define DICT GLOBAL("collections", "OrderedDict") ")R"

#define READ(p, text) pickle_read(p, text, sizeof text - 1, &err)

TEST(a_dictionary_of_tensors_is_read)
{
    static const char text[] = "\200\2" DICT "q\0(X\1\0\0\0w" TENSOR "X\1\0\0\0nK\5u"
                               "}X\11\0\0\0_metadataNsb.";
    struct pickle p;

    CHECK_OK(READ(&p, text), &err);
    CHECK(p.n == 1 && p.tensor->name.n_bytes == 1 && *p.tensor->name.text == 'w');
    CHECK(p.tensor->type == TENSORS_F32 && p.tensor->first == 2 &&
          p.tensor->n_stored == 12);
    CHECK(p.tensor->n_dims == 2 && p.tensor->dim[0] == 2 && p.tensor->dim[1] == 3);
    CHECK(p.tensor->stride[0] == 3 && p.tensor->stride[1] == 1);
    CHECK(p.tensor->key.n_bytes == 1 && *p.tensor->key.text == '0');
    pickle_close(&p);
}

TEST(newer_protocols_and_parameters_are_read)
{
    static const char text[] = "\200\4\225\0\0\0\0\0\0\0\0}\224\214\1w\214\014torch._"
                               "utils\214\022_rebuild_parameter"
                               "\223(" TENSOR "\210" DICT "tRs.";
    struct pickle p;

    CHECK_OK(READ(&p, text), &err);
    CHECK(p.n == 1 && p.tensor->n_dims == 2);
    pickle_close(&p);
}

TEST(whatever_would_be_called_is_refused_by_its_name)
{
    struct pickle p;

    CHECK_FAILS(READ(&p, "cos\nsystem\n(X\2\0\0\0lstR."), &err, ERR_FORMAT, "os.system");
    CHECK_FAILS(READ(&p, "\200\4\214\10builtins\214\4eval\223."), &err, ERR_FORMAT,
                "builtins.eval");
    CHECK_FAILS(READ(&p, "ctorch\nload\n."), &err, ERR_FORMAT, "torch.load");
    CHECK_FAILS(READ(&p, "ctorch._utils\n_rebuild_qtensor\n."), &err, ERR_FORMAT,
                "torch._utils._rebuild_qtensor");
    CHECK_FAILS(READ(&p, "(ios\nsystem\n."), &err, ERR_FORMAT, "instruction 0x69");
    CHECK_FAILS(READ(&p, "(cos\nsystem\no."), &err, ERR_FORMAT, "os.system");
    CHECK_FAILS(READ(&p, "\202\1."), &err, ERR_FORMAT, "instruction 0x82");
    CHECK_FAILS(READ(&p, "\200\2)\201."), &err, ERR_FORMAT, "instruction 0x81");
}

TEST(values_of_other_kinds_do_not_pass_for_tensors)
{
    struct pickle p;

    CHECK_FAILS(READ(&p, "K\1."), &err, ERR_FORMAT, "no dictionary");
    CHECK_FAILS(READ(&p, "}}."), &err, ERR_FORMAT, "no dictionary");
    CHECK_FAILS(READ(&p, GLOBAL("torch._utils", "_rebuild_tensor_v2") "(K\1K\2K\3K\4tR."),
                &err, ERR_FORMAT, "something else");
    CHECK_FAILS(READ(&p, "(K\1K\2K\3K\4K\5tQ."), &err, ERR_FORMAT, "no storage");
    CHECK_FAILS(READ(&p, "K\1K\2b."), &err, ERR_FORMAT, "no dictionary");
    CHECK_FAILS(READ(&p, "K\1)R."), &err, ERR_FORMAT, "damaged");
    CHECK_FAILS(READ(&p, "h\0."), &err, ERR_FORMAT, "damaged");
    CHECK_FAILS(READ(&p, "}r\377\377\377\377."), &err, ERR_FORMAT, "damaged");
    CHECK_FAILS(READ(&p, "(K\1u."), &err, ERR_FORMAT, "damaged");
    CHECK_FAILS(READ(&p, "X\377\377\377\377abc."), &err, ERR_FORMAT, "damaged");
}

TEST(a_list_that_holds_itself_is_no_trouble)
{
    struct pickle p;

    CHECK_OK(READ(&p, "}X\1\0\0\0a]q\0h\0as."), &err);
    CHECK(p.n == 0);
    pickle_close(&p);
}

TEST(a_pickle_that_was_cut_is_refused_wherever_it_was_cut)
{
    static const char text[] = "\200\2" DICT "q\0(X\1\0\0\0w" TENSOR "u.";
    struct pickle p;

    for (size_t n = 0; n + 1 < sizeof text - 1; n++)
        CHECK(pickle_read(&p, text, n, &err) == ERR_FORMAT && *err.msg);
}
