#include "prepare/given.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "format/model_sections.h"
#include "format/pack.h"
#include "recipe/model_config.h"

/* What cannot be read is left to SentencePiece, whose message fits every other file. */
static bool is_packed(const char *path)
{
    char head[sizeof PACK_MAGIC - 1];
    FILE *f = fopen(path, "rbe");
    const bool is = f && fread(head, sizeof head, 1, f) == 1 &&
                    memcmp(head, PACK_MAGIC, sizeof head) == 0;

    if (f)
        fclose(f);
    return is;
}

/* What the sections say of both vocabularies. */
static status read_sizes(const struct pack *p, const char *path, int64_t *source,
                         int64_t *target, struct err *err)
{
    const struct pack_section *config = pack_find(p, PACKED_MODEL_CONFIG);
    const struct pack_section *arch = pack_find(p, PACKED_MODEL_ARCHITECTURE);
    struct architecture_options o;
    struct model_config c;

    if (!config)
        return err_set(err, ERR_FORMAT, "%s: there is no section config: it is no model",
                       path);
    TRY(model_config_defaults(&c, err));
    TRY(opt_yaml(model_config_table, &c, config->bytes, config->n_bytes, path,
                 OPT_SKIP_UNKNOWN, err));
    TRY(opt_defaults(architecture_table, &o, err));
    if (arch)
        TRY(opt_yaml(architecture_table, &o, arch->bytes, arch->n_bytes, path,
                     OPT_SKIP_UNKNOWN, err));
    *target = c.vocab_size;
    *source = o.source_vocab_size ? o.source_vocab_size : c.vocab_size;
    return OK;
}

static status parse(struct spm **spm, const struct pack_section *section, int64_t known,
                    struct err *err)
{
    TRY(spm_parse(spm, section->bytes, section->n_bytes, err));
    if ((size_t)known < spm_size(*spm))
        spm_limit(*spm, (size_t)known);
    return OK;
}

static status read_packed(struct spm **spm, const struct pack *p, const char *path,
                          struct err *err)
{
    const struct pack_section *source = pack_find(p, PACKED_MODEL_TOKENIZER);
    const struct pack_section *target = pack_find(p, PACKED_MODEL_TARGET);
    int64_t n_source = 0, n_target = 0;
    struct spm *other;

    TRY(read_sizes(p, path, &n_source, &n_target, err));
    if (!source)
        return err_set(err, ERR_FORMAT, "%s has no section " PACKED_MODEL_TOKENIZER,
                       path);
    TRY(parse(spm, source, n_source, err));
    if (!target)
        return OK;
    TRY(parse(&other, target, n_target, err));
    spm_join(*spm, other);
    return OK;
}

status given_load(struct spm **spm, const char *path, struct err *err)
{
    RELEASED_BY(pack_close) struct pack pack = {0};

    *spm = NULL;
    if (!is_packed(path))
        return spm_load(spm, path, err);
    TRY(pack_open(&pack, path, err));
    return read_packed(spm, &pack, path, err);
}
