#include "decode/packed_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "device/half.h"
#include "format/le.h"

OPT_TABLE(packed_model_table, struct packed_model_options, PACKED_MODEL_OPTIONS);

enum { ROW_BYTES = 80, NAME_BYTES = 48, ALIGN = 64 };

bool packed_model_is(const char *path)
{
    unsigned char head[sizeof PACK_MAGIC - 1];
    FILE *f = file_is_dir(path) || file_is_special(path) ? NULL : fopen(path, "rbe");

    if (!f)
        return false;
    const bool is_one =
        fread(head, sizeof head, 1, f) == 1 && memcmp(head, PACK_MAGIC, sizeof head) == 0;
    fclose(f);
    return is_one;
}

/* ---- the bytes of a part ---- */

static enum linear_type type_of(enum packed_model_type type)
{
    return type == PACKED_INT8 ? LINEAR_INT8 : LINEAR_FLOAT;
}

/* Numbers of a part's panels. */
static size_t n_values(const struct network_part *part)
{
    return linear_bytes(LINEAR_FLOAT, part->n_in, part->n_out) / sizeof(float);
}

/* As network_part_bytes(), with panels of 16 bits. */
static size_t half_bytes(const struct network_part *part)
{
    const size_t in_float = n_values(part) * sizeof(float);

    return linear_round(n_values(part) * sizeof(uint16_t), ALIGN) +
           network_part_bytes(part, LINEAR_FLOAT) - linear_round(in_float, ALIGN);
}

static size_t stored_bytes(const struct network_part *part, enum packed_model_type type)
{
    return type == PACKED_HALF ? half_bytes(part)
                               : network_part_bytes(part, type_of(type));
}

/* ---- reading ---- */

struct line packed_model_text(const struct packed_model *m, const char *section)
{
    const struct pack_section *s = pack_find(&m->pack, section);

    return s ? (struct line){(const char *)s->bytes, s->n_bytes} : (struct line){"", 0};
}

bool packed_model_tensor(const struct packed_model *m, size_t i,
                         struct packed_model_tensor *t)
{
    const struct pack_section *s = pack_find(&m->pack, PACKED_MODEL_TENSORS);
    const unsigned char *row;

    if (!s || i >= s->n_bytes / ROW_BYTES)
        return false;
    row = s->bytes + i * ROW_BYTES;
    *t = (struct packed_model_tensor){.type = (enum packed_model_type)le_get32(row + 48),
                                      .n_in = le_get32(row + 52),
                                      .n_out = le_get32(row + 56),
                                      .at = le_get64(row + 64),
                                      .n_bytes = le_get64(row + 72)};
    memcpy(t->name, row, NAME_BYTES - 1);
    return true;
}

/* The i-th tensor must be the i-th part: same name, same shape, its bytes inside. */
static status check_tensor(const struct packed_model_tensor *t,
                           const struct network_part *part, size_t n_weights,
                           struct err *err)
{
    if (strcmp(t->name, part->name) != 0)
        return err_set(err, ERR_FORMAT, "tensor %s stands where %s belongs", t->name,
                       part->name);
    if (t->n_in != part->n_in || t->n_out != part->n_out)
        return err_set(err, ERR_FORMAT,
                       "tensor %s is %zu x %zu, the configuration wants %zu x %zu",
                       t->name, t->n_in, t->n_out, part->n_in, part->n_out);
    if ((unsigned)t->type >= N_PACKED_TYPES || (part->vector && t->type != PACKED_FLOAT))
        return err_set(err, ERR_FORMAT, "tensor %s is of type %u, which is not known",
                       t->name, (unsigned)t->type);
    if (t->at % ALIGN || t->n_bytes != stored_bytes(part, t->type) || t->at > n_weights ||
        t->n_bytes > n_weights - t->at)
        return err_set(err, ERR_FORMAT, "tensor %s lies outside of the weights", t->name);
    return OK;
}

static void widen(float *to, const unsigned char *from, const struct network_part *part)
{
    const size_t n = n_values(part);
    const uint16_t *half = (const uint16_t *)from;
    const size_t at = linear_round(n * sizeof *half, ALIGN);
    const size_t to_at = linear_round(n * sizeof *to, ALIGN);

    for (size_t i = 0; i < n; i++)
        to[i] = half_to(half[i]);
    memcpy((char *)to + to_at, from + at, half_bytes(part) - at);
}

/* Every part has its tensor, and no tensor is left over; *n_wide: bytes of memory for
 * what is stored in half precision, less than twice those of the file. */
static status check_tensors(struct packed_model *m, size_t n_weights, size_t *n_wide,
                            struct err *err)
{
    struct packed_model_tensor t;
    struct network_part part;
    size_t i = 0;

    *n_wide = 0;
    for (; network_part(&m->network, i, &part); i++) {
        if (!packed_model_tensor(m, i, &t))
            return err_set(err, ERR_FORMAT, "tensor %s is missing", part.name);
        TRY(check_tensor(&t, &part, n_weights, err));
        if (t.type == PACKED_HALF)
            *n_wide += network_part_bytes(&part, LINEAR_FLOAT);
    }
    if (packed_model_tensor(m, i, &t))
        return err_set(err, ERR_FORMAT, "tensor %s belongs to nothing", t.name);
    return OK;
}

static status bind_parts(struct packed_model *m, const struct pack_section *weights,
                         struct err *err)
{
    struct packed_model_tensor t;
    struct network_part part;
    size_t n_wide;

    TRY(check_tensors(m, weights->n_bytes, &n_wide, err));
    if (n_wide && !(m->network.memory = aligned_alloc(ALIGN, n_wide)))
        return err_set(err, ERR_MEMORY, "cannot allocate %zu bytes for the weights",
                       n_wide);
    char *wide = m->network.memory;
    for (size_t i = 0; network_part(&m->network, i, &part); i++) {
        BUG_ON(!packed_model_tensor(m, i, &t)); /* the check would have told */
        const void *bytes = weights->bytes + t.at;
        if (t.type == PACKED_HALF) {
            widen((float *)(void *)wide, bytes, &part);
            bytes = wide;
            wide += network_part_bytes(&part, LINEAR_FLOAT);
        }
        network_bind(&part, type_of(t.type), bytes);
    }
    return OK;
}

static status check_sections(const struct packed_model *m, struct err *err)
{
    static const char *const known[] = {
        PACKED_MODEL_CONFIG,    PACKED_MODEL_TOKENIZER,    PACKED_MODEL_TENSORS,
        PACKED_MODEL_WEIGHTS,   PACKED_MODEL_ABOUT,        PACKED_MODEL_LICENCE,
        PACKED_MODEL_SHORTLIST, PACKED_MODEL_ARCHITECTURE, PACKED_MODEL_TARGET};
    enum { N_KNOWN = sizeof known / sizeof *known, N_NEEDED = 4 };

    TRY(pack_check_known(&m->pack, known, N_KNOWN, err));
    for (size_t i = 0; i < N_NEEDED; i++)
        if (!pack_find(&m->pack, known[i]))
            return err_set(err, ERR_FORMAT, "there is no section %s: it is no model",
                           known[i]);
    return OK;
}

static status read_architecture(struct packed_model *m, const char *path, struct err *err)
{
    const struct line text = packed_model_text(m, PACKED_MODEL_ARCHITECTURE);
    struct architecture_options o;

    if (!text.n_bytes)
        return OK;
    TRY(opt_defaults(architecture_table, &o, err));
    TRY(opt_yaml(architecture_table, &o, text.text, text.n_bytes, path,
                 OPT_REFUSE_UNKNOWN, err));
    m->config.arch = architecture_from_options(&o);
    return OK;
}

static status read_config(struct packed_model *m, const char *path, struct err *err)
{
    const struct line text = packed_model_text(m, PACKED_MODEL_CONFIG);

    TRY(model_config_defaults(&m->config, err));
    TRY(opt_defaults(packed_model_table, &m->options, err));
    TRY(opt_yaml(model_config_table, &m->config, text.text, text.n_bytes, path,
                 OPT_SKIP_UNKNOWN, err));
    TRY(opt_yaml(packed_model_table, &m->options, text.text, text.n_bytes, path,
                 OPT_SKIP_UNKNOWN, err));
    TRY(read_architecture(m, path, err));
    TRY(model_config_check(&m->config, err));
    if (m->options.alignment_layer >= m->config.decoder_layers)
        return err_set(err, ERR_FORMAT, "alignment_layer = %lld of %lld decoder layers",
                       (long long)m->options.alignment_layer,
                       (long long)m->config.decoder_layers);
    return OK;
}

/* A tokenizer may cut a text into more pieces than its model knows. */
static status read_tokenizers(struct packed_model *m, struct err *err)
{
    const struct line source = packed_model_text(m, PACKED_MODEL_TOKENIZER);
    const struct line target = packed_model_text(m, PACKED_MODEL_TARGET);
    struct spm *other = NULL;

    TRY(spm_parse(&m->spm, source.text, source.n_bytes, err));
    if (target.n_bytes) {
        TRY(spm_parse(&other, target.text, target.n_bytes, err));
        spm_join(m->spm, other);
        spm_limit(other, (size_t)m->config.vocab_size);
    }
    if (target.n_bytes || !architecture_is_reference(&m->config.arch))
        spm_limit(m->spm, (size_t)model_config_source_vocab(&m->config));
    return OK;
}

static status read_sections(struct packed_model *m, const char *path, struct err *err)
{
    const struct pack_section *list = pack_find(&m->pack, PACKED_MODEL_SHORTLIST);

    if (le_get32((const unsigned char[]){1, 0, 0, 0}) != *(const uint32_t[]){1})
        return err_set(err, ERR_FORMAT, "this processor orders bytes the other way");
    TRY(check_sections(m, err));
    TRY(read_config(m, path, err));
    TRY(read_tokenizers(m, err));
    if (list) {
        TRY(shortlist_view(&m->shortlist, list->bytes, list->n_bytes,
                           (size_t)m->config.vocab_size, err));
        m->has_shortlist = true;
    }
    TRY(network_open(&m->network, &m->config, err));
    return bind_parts(m, pack_find(&m->pack, PACKED_MODEL_WEIGHTS), err);
}

status packed_model_open(struct packed_model *m, const char *path, struct err *err)
{
    *m = (struct packed_model){0};
    TRY(pack_open(&m->pack, path, err));
    if (read_sections(m, path, err) != OK) {
        packed_model_close(m);
        return err_wrap(err, "%s", path);
    }
    return OK;
}

status packed_model_parse(struct packed_model *m, const unsigned char *bytes, size_t n,
                          struct err *err)
{
    *m = (struct packed_model){0};
    status result = pack_parse(&m->pack, bytes, n, false, err);
    THEN(result, read_sections(m, "the model", err));
    if (result != OK)
        packed_model_close(m);
    return result;
}

void packed_model_close(struct packed_model *m)
{
    network_close(&m->network);
    spm_free(m->spm);
    pack_close(&m->pack);
    *m = (struct packed_model){0};
}

/* ---- writing ---- */

static enum packed_model_type stored_type(const struct packed_model_parts *p,
                                          const struct network_part *part)
{
    if (part->vector)
        return PACKED_FLOAT;
    if (part->matrix->type == LINEAR_INT8)
        return PACKED_INT8;
    return p->is_half ? PACKED_HALF : PACKED_FLOAT;
}

static status write_text(struct pack_writer *w, const char *name, struct line text,
                         uint32_t flags, struct err *err)
{
    if (!text.n_bytes && !(flags & PACK_REQUIRED))
        return OK;
    TRY(pack_writer_begin(w, name, flags, err));
    TRY(pack_writer_add(w, text.text, text.n_bytes, err));
    return pack_writer_end(w, err);
}

static status write_config(struct pack_writer *w, const struct model_config *c,
                           const struct packed_model_options *o, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);

    opt_dump(model_config_table, c, &text);
    opt_dump(packed_model_table, o, &text);
    TRY(str_check(&text, "the configuration", err));
    return write_text(w, PACKED_MODEL_CONFIG, (struct line){text.data, text.len},
                      PACK_REQUIRED, err);
}

/* Programs that do not know it must not take the model for the reference's. */
static status write_architecture(struct pack_writer *w, const struct architecture *a,
                                 struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    struct architecture_options o;

    if (architecture_is_reference(a))
        return OK;
    architecture_to_options(&o, a);
    opt_dump(architecture_table, &o, &text);
    TRY(str_check(&text, "the architecture", err));
    return write_text(w, PACKED_MODEL_ARCHITECTURE, (struct line){text.data, text.len},
                      PACK_REQUIRED, err);
}

static status write_tensors(struct pack_writer *w, const struct packed_model_parts *p,
                            struct err *err)
{
    struct network_part part;
    uint64_t at = 0;

    TRY(pack_writer_begin(w, PACKED_MODEL_TENSORS, PACK_REQUIRED, err));
    for (size_t i = 0; network_part(p->network, i, &part); i++) {
        const enum packed_model_type type = stored_type(p, &part);
        unsigned char row[ROW_BYTES] = {0};
        memcpy(row, part.name, strlen(part.name));
        le_put32(row + 48, (uint32_t)type);
        le_put32(row + 52, (uint32_t)part.n_in);
        le_put32(row + 56, (uint32_t)part.n_out);
        le_put64(row + 64, at);
        le_put64(row + 72, stored_bytes(&part, type));
        TRY(pack_writer_add(w, row, sizeof row, err));
        at += stored_bytes(&part, type);
    }
    return pack_writer_end(w, err);
}

/* The part's panels in half precision, then what follows them as it is. */
static status write_half(struct pack_writer *w, const struct network_part *part,
                         struct err *err)
{
    RELEASED_BY(mem_release) uint16_t *half = NULL;
    const size_t n = n_values(part), n_bytes = linear_round(n * sizeof *half, ALIGN);
    const float *from = part->matrix->panel;

    TRY(mem_alloc(&half, n_bytes, 1, err));
    for (size_t i = 0; i < n; i++)
        half[i] = half_from(half_clip(from[i]));
    TRY(pack_writer_add(w, half, n_bytes, err));
    return pack_writer_add(w, (const char *)from + linear_round(n * sizeof *from, ALIGN),
                           half_bytes(part) - n_bytes, err);
}

/* network_pack() and the reader lay a part out alike, so that its bytes are one run. */
static status write_weights(struct pack_writer *w, const struct packed_model_parts *p,
                            struct err *err)
{
    struct network_part part;

    TRY(pack_writer_begin(w, PACKED_MODEL_WEIGHTS, PACK_REQUIRED, err));
    for (size_t i = 0; network_part(p->network, i, &part); i++) {
        const enum packed_model_type type = stored_type(p, &part);
        if (type == PACKED_HALF)
            TRY(write_half(w, &part, err));
        else
            TRY(pack_writer_add(w, part.vector ? *part.vector : part.matrix->panel,
                                stored_bytes(&part, type), err));
    }
    return pack_writer_end(w, err);
}

static status write_tokenizers(struct pack_writer *w, struct line source,
                               struct line target, struct err *err)
{
    TRY(write_text(w, PACKED_MODEL_TOKENIZER, source, PACK_REQUIRED, err));
    return target.n_bytes ? write_text(w, PACKED_MODEL_TARGET, target, PACK_REQUIRED, err)
                          : OK;
}

status packed_model_write(const struct packed_model_parts *p, const char *path,
                          struct err *err)
{
    const struct model_config *c = &p->network->config;
    struct pack_writer w = {0};
    status result = pack_writer_create(&w, path, err);

    THEN(result, write_config(&w, c, &p->options, err));
    THEN(result, write_architecture(&w, &c->arch, err));
    THEN(result, write_text(&w, PACKED_MODEL_ABOUT, p->about, 0, err));
    THEN(result, write_text(&w, PACKED_MODEL_LICENCE, p->licence, 0, err));
    THEN(result, write_tokenizers(&w, p->tokenizer, p->target, err));
    THEN(result, write_text(&w, PACKED_MODEL_SHORTLIST, p->shortlist, 0, err));
    THEN(result, write_text(&w, PACKED_MODEL_PROFILES, p->profiles, 0, err));
    THEN(result, write_tensors(&w, p, err));
    THEN(result, write_weights(&w, p, err));
    THEN(result, pack_writer_commit(&w, err));
    pack_writer_abort(&w);
    return result;
}

status packed_model_write_tokenizers(const struct model_config *c, struct line source,
                                     struct line target, const char *path,
                                     struct err *err)
{
    struct packed_model_options o;
    struct pack_writer w = {0};

    TRY(opt_defaults(packed_model_table, &o, err));
    status result = pack_writer_create(&w, path, err);
    THEN(result, write_config(&w, c, &o, err));
    THEN(result, write_architecture(&w, &c->arch, err));
    THEN(result, write_tokenizers(&w, source, target, err));
    THEN(result, pack_writer_commit(&w, err));
    pack_writer_abort(&w);
    return result;
}
