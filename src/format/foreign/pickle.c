/*
 * Instructions are a byte and what it needs. Those of torch.save(): values are pushed on
 * a stack; a MARK says where the items of a tuple, list or dictionary begin; PUT keeps
 * the top under a number and GET pushes it again; GLOBAL pushes something of a module,
 * REDUCE calls it, BINPERSID pushes a storage.
 */
#include "format/foreign/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/le.h"

enum kind {
    NOTHING, /* None, and numbers that are not whole */
    NUMBER,  /* whole numbers, true, false */
    TEXT,
    TUPLE,
    LIST,
    DICT,
    TYPE, /* a kind of storage */
    CALL, /* something that can be called */
    STORAGE,
    TENSOR
};

/* What may be called. */
enum call { REBUILD_TENSOR, REBUILD_PARAMETER, ORDERED_DICT };

struct value {
    enum kind kind;
    union {
        int64_t number;
        struct line text;
        struct {
            uint32_t first, last; /* links, plus one; 0: none */
            uint32_t n;
        } list; /* of TUPLE, LIST, DICT: there keys and values in turn */
        enum tensors_type type;
        enum call call;
        struct {
            struct line key;
            int64_t n;
            enum tensors_type type;
        } storage;
        uint32_t tensor;
    };
};

/* Values point to each other by numbers, which growing arrays keep. */
struct link {
    uint32_t value, next;
};

struct tensor {
    uint32_t storage, size, stride;
    int64_t first;
};

struct machine {
    const unsigned char *at, *end;
    struct value *value;
    struct link *link;
    struct tensor *tensor;
    uint32_t *stack, *mark, *memo; /* memo: plus one */
    size_t n_values, values_cap, n_links, links_cap, n_tensors, tensors_cap;
    size_t n_stack, stack_cap, n_marks, marks_cap, n_memo, memo_cap;
};

static status damaged(struct err *err)
{
    return err_set(err, ERR_FORMAT, "its pickle is damaged or cut short");
}

static void release(struct machine *m)
{
    free(m->value);
    free(m->link);
    free(m->tensor);
    free(m->stack);
    free(m->mark);
    free(m->memo);
}

/* ---- the stack ---- */

static status push(struct machine *m, struct value v, struct err *err)
{
    TRY(mem_grow(&m->value, &m->values_cap, m->n_values + 1, sizeof *m->value, err));
    TRY(mem_grow(&m->stack, &m->stack_cap, m->n_stack + 1, sizeof *m->stack, err));
    m->value[m->n_values] = v;
    m->stack[m->n_stack++] = (uint32_t)m->n_values++;
    return OK;
}

static status push_number(struct machine *m, int64_t x, struct err *err)
{
    return push(m, (struct value){.kind = NUMBER, .number = x}, err);
}

static status push_kind(struct machine *m, enum kind kind, struct err *err)
{
    return push(m, (struct value){.kind = kind}, err);
}

/* The stack above the last mark, or all of it. */
static size_t floor_of(const struct machine *m)
{
    return m->n_marks ? m->mark[m->n_marks - 1] : 0;
}

static status pop(struct machine *m, uint32_t *v, struct err *err)
{
    if (m->n_stack <= floor_of(m))
        return damaged(err);
    *v = m->stack[--m->n_stack];
    return OK;
}

static status append(struct machine *m, uint32_t to, uint32_t item, struct err *err)
{
    TRY(mem_grow(&m->link, &m->links_cap, m->n_links + 1, sizeof *m->link, err));
    m->link[m->n_links++] = (struct link){.value = item};
    struct value *v = &m->value[to];
    const uint32_t number = (uint32_t)m->n_links;
    if (v->list.last)
        m->link[v->list.last - 1].next = number;
    else
        v->list.first = number;
    v->list.last = number;
    v->list.n++;
    return OK;
}

/* The n values on top become a tuple. */
static status take_tuple(struct machine *m, size_t n, struct err *err)
{
    if (m->n_stack - floor_of(m) < n)
        return damaged(err);
    const size_t from = m->n_stack - n;
    TRY(push_kind(m, TUPLE, err));
    const uint32_t tuple = m->stack[--m->n_stack];
    for (size_t i = from; i < m->n_stack; i++)
        TRY(append(m, tuple, m->stack[i], err));
    m->n_stack = from;
    m->stack[m->n_stack++] = tuple;
    return OK;
}

/* What stands above the mark goes into the list or dictionary below it. */
static status take_items(struct machine *m, enum kind kind, size_t n_together,
                         struct err *err)
{
    if (!m->n_marks)
        return damaged(err);
    const size_t from = m->mark[--m->n_marks];
    if (from <= floor_of(m) || (m->n_stack - from) % n_together)
        return damaged(err);
    const uint32_t to = m->stack[from - 1];
    if (m->value[to].kind != kind)
        return damaged(err);
    for (size_t i = from; i < m->n_stack; i++)
        TRY(append(m, to, m->stack[i], err));
    m->n_stack = from;
    return OK;
}

/* The same of the one item on top, without a mark. */
static status take_item(struct machine *m, enum kind kind, size_t n, struct err *err)
{
    if (!m->stack || m->n_stack - floor_of(m) < n + 1)
        return damaged(err);
    const size_t from = m->n_stack - n;
    const uint32_t to = m->stack[from - 1];
    if (m->value[to].kind != kind)
        return damaged(err);
    for (size_t i = from; i < m->n_stack; i++)
        TRY(append(m, to, m->stack[i], err));
    m->n_stack = from;
    return OK;
}

/* ---- what they are ---- */

/* Item i of a tuple; NULL: there is none, or it is no tuple. */
static const struct value *item_of(const struct machine *m, uint32_t tuple, size_t i,
                                   uint32_t *number)
{
    const struct value *v = &m->value[tuple];
    uint32_t at = v->kind == TUPLE || v->kind == LIST ? v->list.first : 0;

    for (; at && i; i--)
        at = m->link[at - 1].next;
    if (!at)
        return NULL;
    if (number)
        *number = m->link[at - 1].value;
    return &m->value[m->link[at - 1].value];
}

static bool is(struct line a, const char *text)
{
    return a.n_bytes == strlen(text) && memcmp(a.text, text, a.n_bytes) == 0;
}

static status push_global(struct machine *m, struct line module, struct line name,
                          struct err *err)
{
    static const struct {
        const char *module, *name;
        enum call call;
    } calls[] = {{"torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR},
                 {"torch._utils", "_rebuild_parameter", REBUILD_PARAMETER},
                 {"collections", "OrderedDict", ORDERED_DICT}};
    static const struct {
        const char *name;
        enum tensors_type type;
    } types[] = {{"FloatStorage", TENSORS_F32}, {"DoubleStorage", TENSORS_F64},
                 {"HalfStorage", TENSORS_F16},  {"BFloat16Storage", TENSORS_BF16},
                 {"CharStorage", TENSORS_I8},   {"ShortStorage", TENSORS_I16},
                 {"IntStorage", TENSORS_I32},   {"LongStorage", TENSORS_I64},
                 {"ByteStorage", TENSORS_U8},   {"BoolStorage", TENSORS_BOOL}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (is(module, calls[i].module) && is(name, calls[i].name))
            return push(m, (struct value){.kind = CALL, .call = calls[i].call}, err);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(module, "torch") && is(name, types[i].name))
            return push(m, (struct value){.kind = TYPE, .type = types[i].type}, err);
    return err_set(err, ERR_FORMAT,
                   "its pickle asks for %.*s.%.*s, which no tensor needs: what a pickle "
                   "calls is not run here",
                   (int)(module.n_bytes < 60 ? module.n_bytes : 60), module.text,
                   (int)(name.n_bytes < 60 ? name.n_bytes : 60), name.text);
}

/* ("storage", type, key, location, elements) */
static status push_storage(struct machine *m, struct err *err)
{
    uint32_t tuple = 0;

    TRY(pop(m, &tuple, err));
    const struct value *word = item_of(m, tuple, 0, NULL),
                       *type = item_of(m, tuple, 1, NULL),
                       *key = item_of(m, tuple, 2, NULL), *n = item_of(m, tuple, 4, NULL);
    if (!n || word->kind != TEXT || !is(word->text, "storage") || type->kind != TYPE ||
        key->kind != TEXT || n->kind != NUMBER || n->number < 0)
        return err_set(err, ERR_FORMAT, "its pickle has a reference to no storage");
    return push(
        m, (struct value){.kind = STORAGE, .storage = {key->text, n->number, type->type}},
        err);
}

/* (storage, first element, size, stride, ...) */
static status rebuild_tensor(struct machine *m, uint32_t tuple, struct err *err)
{
    struct tensor t = {0};
    const struct value *storage = item_of(m, tuple, 0, &t.storage),
                       *first = item_of(m, tuple, 1, NULL),
                       *size = item_of(m, tuple, 2, &t.size),
                       *stride = item_of(m, tuple, 3, &t.stride);

    if (!stride || storage->kind != STORAGE || first->kind != NUMBER ||
        first->number < 0 || size->kind != TUPLE || stride->kind != TUPLE)
        return err_set(err, ERR_FORMAT, "its pickle rebuilds a tensor of something else");
    t.first = first->number;
    TRY(mem_grow(&m->tensor, &m->tensors_cap, m->n_tensors + 1, sizeof *m->tensor, err));
    m->tensor[m->n_tensors++] = t;
    return push(m, (struct value){.kind = TENSOR, .tensor = (uint32_t)(m->n_tensors - 1)},
                err);
}

static status reduce(struct machine *m, struct err *err)
{
    uint32_t given = 0, called = 0, inner;

    TRY(pop(m, &given, err));
    TRY(pop(m, &called, err));
    if (m->value[called].kind != CALL || m->value[given].kind != TUPLE)
        return damaged(err);
    switch (m->value[called].call) {
    case ORDERED_DICT:
        return m->value[given].list.n ? damaged(err) : push_kind(m, DICT, err);
    case REBUILD_PARAMETER: {
        const struct value *v = item_of(m, given, 0, &inner);
        return v && v->kind == TENSOR ? push(m, *v, err) : damaged(err);
    }
    default:
        return rebuild_tensor(m, given, err);
    }
}

/* Attributes of a dictionary (_metadata) say nothing of its tensors. */
static status build(struct machine *m, struct err *err)
{
    uint32_t state;

    TRY(pop(m, &state, err));
    if (m->n_stack <= floor_of(m) || m->value[m->stack[m->n_stack - 1]].kind != DICT)
        return err_set(err, ERR_FORMAT,
                       "its pickle gives a state to something that is no dictionary");
    return OK;
}

/* ---- instructions ---- */

static bool has(const struct machine *m, uint64_t n)
{
    return n <= (uint64_t)(m->end - m->at);
}

static uint64_t take_bytes(struct machine *m, size_t n)
{
    uint64_t x = 0;

    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)*m->at++ << (8 * i);
    return x;
}

/* A number of n_count bytes, and so many bytes of text. */
static status push_text(struct machine *m, size_t n_count, struct err *err)
{
    if (!has(m, n_count))
        return damaged(err);
    const uint64_t n = take_bytes(m, n_count);
    if (!has(m, n))
        return damaged(err);
    const struct line text = {(const char *)m->at, (size_t)n};
    m->at += n;
    return push(m, (struct value){.kind = TEXT, .text = text}, err);
}

static status push_whole(struct machine *m, size_t n, bool is_signed, struct err *err)
{
    if (!has(m, n) || n > 8)
        return damaged(err);
    uint64_t x = take_bytes(m, n);
    if (is_signed && n && n < 8 && x >> (8 * n - 1))
        x |= UINT64_MAX << (8 * n);
    return push_number(m, (int64_t)x, err);
}

static status take_line(struct machine *m, struct line *line, struct err *err)
{
    const unsigned char *end =
        m->at < m->end ? memchr(m->at, '\n', (size_t)(m->end - m->at)) : NULL;

    if (!end)
        return damaged(err);
    *line = (struct line){(const char *)m->at, (size_t)(end - m->at)};
    m->at = end + 1;
    return OK;
}

static status take_global(struct machine *m, struct err *err)
{
    struct line module, name;

    TRY(take_line(m, &module, err));
    TRY(take_line(m, &name, err));
    return push_global(m, module, name, err);
}

static status take_stacked_global(struct machine *m, struct err *err)
{
    uint32_t module = 0, name = 0;

    TRY(pop(m, &name, err));
    TRY(pop(m, &module, err));
    if (m->value[name].kind != TEXT || m->value[module].kind != TEXT)
        return damaged(err);
    return push_global(m, m->value[module].text, m->value[name].text, err);
}

/* Numbers are given one after the other; one far beyond them is none of torch's. */
static status put(struct machine *m, uint64_t number, struct err *err)
{
    if (m->n_stack <= floor_of(m) || number > m->n_values + 1)
        return damaged(err);
    const size_t cap = m->memo_cap;
    TRY(mem_grow(&m->memo, &m->memo_cap, (size_t)number + 1, sizeof *m->memo, err));
    memset(m->memo + cap, 0, (m->memo_cap - cap) * sizeof *m->memo);
    m->memo[number] = m->stack[m->n_stack - 1] + 1;
    m->n_memo++;
    return OK;
}

static status get(struct machine *m, uint64_t number, struct err *err)
{
    if (number >= m->memo_cap || !m->memo[number])
        return damaged(err);
    TRY(mem_grow(&m->stack, &m->stack_cap, m->n_stack + 1, sizeof *m->stack, err));
    m->stack[m->n_stack++] = m->memo[number] - 1;
    return OK;
}

static status set_mark(struct machine *m, struct err *err)
{
    TRY(mem_grow(&m->mark, &m->marks_cap, m->n_marks + 1, sizeof *m->mark, err));
    m->mark[m->n_marks++] = (uint32_t)m->n_stack;
    return OK;
}

static status tuple_to_mark(struct machine *m, struct err *err)
{
    if (!m->n_marks)
        return damaged(err);
    const size_t n = m->n_stack - m->mark[--m->n_marks];
    return take_tuple(m, n, err);
}

static status pass_over(struct machine *m, size_t n, struct err *err)
{
    if (!has(m, n))
        return damaged(err);
    m->at += n;
    return OK;
}

static status unsigned_of(struct machine *m, size_t n, uint64_t *x, struct err *err)
{
    if (!has(m, n))
        return damaged(err);
    *x = take_bytes(m, n);
    return OK;
}

/* Instructions that keep and fetch values, or say how long something is. */
static status step_memo(struct machine *m, unsigned char op, struct err *err)
{
    uint64_t x = 0;

    switch (op) {
    case 'q': /* BINPUT */
    case 'r': /* LONG_BINPUT */
        TRY(unsigned_of(m, op == 'q' ? 1 : 4, &x, err));
        return put(m, x, err);
    case 0x94: /* MEMOIZE */
        return put(m, m->n_memo, err);
    case 'h': /* BINGET */
    case 'j': /* LONG_BINGET */
        TRY(unsigned_of(m, op == 'h' ? 1 : 4, &x, err));
        return get(m, x, err);
    case 0x80: /* PROTO */
        return pass_over(m, 1, err);
    case 0x95: /* FRAME */
        return pass_over(m, 8, err);
    case 'G': /* BINFLOAT */
        TRY(pass_over(m, 8, err));
        return push_kind(m, NOTHING, err);
    default:
        return err_set(err, ERR_FORMAT,
                       "its pickle has instruction 0x%02x, which no dictionary of "
                       "tensors needs: it is not run",
                       op);
    }
}

/* Instructions that make something of values. */
static status step_structure(struct machine *m, unsigned char op, struct err *err)
{
    switch (op) {
    case '(':
        return set_mark(m, err);
    case 't':
        return tuple_to_mark(m, err);
    case ')':
        return push_kind(m, TUPLE, err);
    case 0x85:
    case 0x86:
    case 0x87:
        return take_tuple(m, op - 0x84u, err);
    case '}':
        return push_kind(m, DICT, err);
    case ']':
        return push_kind(m, LIST, err);
    case 'u':
        return take_items(m, DICT, 2, err);
    case 's':
        return take_item(m, DICT, 2, err);
    case 'e':
        return take_items(m, LIST, 1, err);
    case 'a':
        return take_item(m, LIST, 1, err);
    case 'c':
        return take_global(m, err);
    case 0x93:
        return take_stacked_global(m, err);
    case 'Q':
        return push_storage(m, err);
    case 'R':
        return reduce(m, err);
    case 'b':
        return build(m, err);
    default:
        return step_memo(m, op, err);
    }
}

static status step(struct machine *m, unsigned char op, struct err *err)
{
    switch (op) {
    case 'N':
        return push_kind(m, NOTHING, err);
    case 0x88:
    case 0x89:
        return push_number(m, op == 0x88, err);
    case 'J':
        return push_whole(m, 4, true, err);
    case 'K':
        return push_whole(m, 1, false, err);
    case 'M':
        return push_whole(m, 2, false, err);
    case 0x8a: /* LONG1: its length, and a number in so many bytes */
        return has(m, 1) ? push_whole(m, (size_t)take_bytes(m, 1), true, err)
                         : damaged(err);
    case 'X':
        return push_text(m, 4, err);
    case 0x8c:
        return push_text(m, 1, err);
    case 0x8d:
        return push_text(m, 8, err);
    default:
        return step_structure(m, op, err);
    }
}

/* ---- the dictionary ---- */

static status add_tensor(struct pickle *p, const struct machine *m, struct line name,
                         const struct tensor *t, struct err *err)
{
    const struct value *storage = &m->value[t->storage];
    struct pickle_tensor out = {.name = name,
                                .key = storage->storage.key,
                                .type = storage->storage.type,
                                .first = (uint64_t)t->first,
                                .n_stored = (uint64_t)storage->storage.n,
                                .n_dims = m->value[t->size].list.n};

    if (out.n_dims > TENSORS_DIMS || m->value[t->stride].list.n != out.n_dims)
        return damaged(err);
    for (size_t i = 0; i < out.n_dims; i++) {
        const struct value *size = item_of(m, t->size, i, NULL),
                           *stride = item_of(m, t->stride, i, NULL);
        if (size->kind != NUMBER || stride->kind != NUMBER || size->number < 0 ||
            stride->number < 0)
            return damaged(err);
        out.dim[i] = (uint64_t)size->number;
        out.stride[i] = (uint64_t)stride->number;
    }
    TRY(mem_grow(&p->tensor, &p->cap, p->n + 1, sizeof *p->tensor, err));
    p->tensor[p->n++] = out;
    return OK;
}

static status take_dict(struct pickle *p, const struct machine *m, struct err *err)
{
    const struct value *dict = m->n_stack ? &m->value[m->stack[m->n_stack - 1]] : NULL;

    if (!dict || dict->kind != DICT || m->n_stack != 1)
        return err_set(err, ERR_FORMAT, "its pickle is no dictionary of tensors");
    for (uint32_t at = dict->list.first; at;) {
        const struct link *key = &m->link[at - 1], *value = &m->link[key->next - 1];
        const struct value *k = &m->value[key->value], *v = &m->value[value->value];
        if (k->kind == TEXT && v->kind == TENSOR)
            TRY(add_tensor(p, m, k->text, &m->tensor[v->tensor], err));
        at = value->next;
    }
    return OK;
}

static status run(struct machine *m, struct err *err)
{
    while (m->at < m->end) {
        const unsigned char op = *m->at++;
        if (op == '.')
            return OK;
        TRY(step(m, op, err));
        if (m->n_values >= UINT32_MAX / 2 || m->n_links >= UINT32_MAX / 2)
            return damaged(err);
    }
    return damaged(err);
}

status pickle_read(struct pickle *p, const void *bytes, size_t n, struct err *err)
{
    struct machine m = {.at = bytes, .end = (const unsigned char *)bytes + n};

    *p = (struct pickle){0};
    status result = run(&m, err);
    THEN(result, take_dict(p, &m, err));
    release(&m);
    if (result != OK)
        pickle_close(p);
    return result;
}

void pickle_close(struct pickle *p)
{
    free(p->tensor);
    *p = (struct pickle){0};
}
