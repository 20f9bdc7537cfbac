#include "serve/translators.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "decode/loaded.h"
#include "decode/steer/terms.h"
#include "markup/placeholder.h"

/* The best alone or several, without links or with them, begun anyhow or as was given. */
enum { KINDS = 8 };

/* Of a request thread. */
struct seat {
    struct translator of[KINDS];
    bool is_open[KINDS];
};

struct translators {
    struct translators_options options;
    struct loaded model;
    struct glossary terms; /* empty unless they were read */
    struct profiles profiles;
    char note[TRANSLATORS_NOTE];
    struct seat *seat; /* [n_seats] opened when they are needed */
};

enum { COPY_PATH = 64 };

static status copy_bytes(int to, int from, const char *path, struct err *err)
{
    enum { PIECE = 1 << 20 };
    RELEASED_BY(mem_release) char *piece = NULL;

    TRY(mem_alloc(&piece, PIECE, 1, err));
    for (ssize_t n; (n = read(from, piece, PIECE)) != 0;)
        if (n > 0)
            TRY(file_put(to, piece, (size_t)n, "memory", err));
        else if (errno != EINTR)
            return file_error(err, path);
    return OK;
}

/* A file without a name that holds the same bytes; its path is in `copy`. They are read:
 * a mapping of a file that is cut short at that moment would end the server. */
static status copy_to_memory(const char *path, int *fd, char copy[COPY_PATH],
                             struct err *err)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC);

    if (from < 0)
        return file_error(err, path);
    *fd = memfd_create("model", MFD_CLOEXEC);
    snprintf(copy, COPY_PATH, "/proc/self/fd/%d", *fd);
    const status result =
        *fd < 0 ? err_set(err, ERR_IO, "memory for %s: %s", path, strerror(errno))
                : copy_bytes(*fd, from, path, err);
    close(from);
    return result;
}

/* What is wrong with the copy is said of the file. */
static status name_file(struct err *err, const char *copy, const char *path)
{
    struct str text = str_new(0);
    const char *at = err->msg;

    for (const char *hit; (hit = strstr(at, copy)); at = hit + strlen(copy)) {
        str_add(&text, at, (size_t)(hit - at));
        str_puts(&text, path);
    }
    str_puts(&text, at);
    const status result = err_set(err, err->code, "%s", str_text(&text));
    str_release(&text);
    return result;
}

static status load_copy(struct translators *t, const char *path, struct loaded_options o,
                        struct err *err)
{
    char copy[COPY_PATH];
    int fd = -1;

    status result = copy_to_memory(path, &fd, copy, err);
    if (result == OK) {
        result = loaded_open(&t->model, copy, o, err);
        if (result != OK)
            result = name_file(err, copy, path);
    }
    if (fd >= 0)
        close(fd); /* the mapping keeps it */
    return result;
}

static status load(struct translators *t, const char *path, struct err *err)
{
    const struct loaded_options o = {.checkpoint = MODEL_DIR_CHECKPOINT,
                                     .average = true,
                                     .device = "cpu",
                                     .n_threads = t->options.n_threads,
                                     .has_shortlist = t->options.has_shortlist,
                                     .in_memory = true,
                                     .is_shared = true};

    return packed_model_is(path) ? load_copy(t, path, o, err)
                                 : loaded_open(&t->model, path, o, err);
}

static status read_profiles_of_data(struct profiles *p, const char *data, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct file_map file;

    if (!*data || file_join(path, sizeof path, data, PROFILE_FILE, err) != OK ||
        !file_exists(path))
        return OK;
    TRY(file_map_copy(&file, path, err));
    status result =
        profile_read(p, (struct line){(const char *)file.data, file.n_bytes}, err);
    file_map_close(&file);
    return result == OK ? OK : err_wrap(err, "%s", path);
}

/* A model translates without them: what is wrong with them is noted. */
static void read_profiles(struct translators *t, const char *path)
{
    const bool is_packed = t->model.network == &t->model.file.network;
    struct err err;
    status result = OK;

    if (!is_packed)
        result = read_profiles_of_data(&t->profiles, t->model.dir.data, &err);
    else if (packed_model_text(&t->model.file, PACKED_MODEL_PROFILES).n_bytes)
        result = profile_read(
            &t->profiles, packed_model_text(&t->model.file, PACKED_MODEL_PROFILES), &err);
    if (result == OK)
        return;
    profile_release(&t->profiles);
    (void)err_wrap(&err, "%s: its languages are detected by frequent words", path);
    snprintf(t->note, sizeof t->note, "%s", err.msg);
}

status translators_open(struct translators **out, const char *path,
                        const struct translators_options *o, struct err *err)
{
    struct translators *t;

    *out = NULL;
    TRY(mem_alloc(&t, 1, sizeof *t, err));
    t->options = *o;
    status result = mem_alloc(&t->seat, o->n_seats, sizeof *t->seat, err);
    THEN(result, load(t, path, err));
    if (result != OK) {
        translators_close(t);
        return result;
    }
    read_profiles(t, path);
    *out = t;
    return OK;
}

void translators_close(struct translators *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->seat && i < KINDS * t->options.n_seats; i++)
        translate_close(&t->seat[i / KINDS].of[i % KINDS]);
    free(t->seat);
    glossary_release(&t->terms);
    profile_release(&t->profiles);
    loaded_close(&t->model);
    free(t);
}

static status check_phrase(void *ctx, struct line line, uint64_t number, struct err *err)
{
    const char *tab = line.n_bytes ? memchr(line.text, '\t', line.n_bytes) : NULL;
    const size_t first = tab ? (size_t)(tab + 1 - line.text) : line.n_bytes;
    struct placeholder p;

    (void)ctx;
    (void)number;
    for (size_t at = 0; placeholder_next(line.text + first, line.n_bytes - first, at, &p);
         at = p.at + p.n_bytes)
        if (p.kind != PLACEHOLDER_MEASURE)
            return err_set(err, ERR_FORMAT,
                           "'%.*s' is a placeholder or an address, and translations have "
                           "only those of their source; leave it out of the phrase",
                           (int)(p.n_bytes < 60 ? p.n_bytes : 60),
                           line.text + first + p.at);
    return OK;
}

status translators_read_terms(struct translators *t, const char *path, struct err *err)
{
    TRY(terms_read_lines(path, check_phrase, NULL, err));
    TRY(translate_read_terms(&t->terms, &t->model.shared, path, err));
    t->model.shared.terms = &t->terms;
    return OK;
}

status translators_phrases(const struct translators *t, struct line text, struct str *out,
                           struct err *err)
{
    RELEASED_BY(glossary_release_hits) struct glossary_hits hits = {0};

    if (!t->terms.n)
        return OK;
    TRY(glossary_find(&t->terms, t->model.shared.pieces->spm, text, &hits, err));
    for (size_t i = 0; i < hits.n; i++) {
        const struct required *r = &t->terms.phrase[hits.hit[i].phrase];
        for (size_t k = 0; k < r->n; k++) {
            char c[4];
            str_add(out, c, utf8_encode(c, r->code[k]));
        }
        str_putc(out, '\0');
    }
    return str_check(out, "the phrases of a text", err);
}

const char *translators_source(const struct translators *t)
{
    return t->model.lang.source;
}

const char *translators_target(const struct translators *t)
{
    return t->model.lang.target;
}

const struct profiles *translators_profiles(const struct translators *t)
{
    return &t->profiles;
}

const char *translators_note(const struct translators *t)
{
    return t->note;
}

struct hub_counts translators_counts(const struct translators *t)
{
    return hub_counts(t->model.shared.hub);
}

static size_t kind_of(const struct translators_call *call)
{
    return call->has_alternatives + 2 * (size_t)call->has_links +
           4 * (size_t)(call->beginning != NULL);
}

/* The seat's translator for this kind of call is opened when there is the first one. */
static status open_translator(const struct translators *t,
                              const struct translators_call *call,
                              struct translator *translator, struct err *err)
{
    bool *is_open = &t->seat[call->seat].is_open[kind_of(call)];
    struct translate_config c = t->options.search;

    c.nbest = call->has_alternatives && !call->beginning ? c.beam : 1;
    c.alignments = call->has_links;
    c.prefix = call->beginning != NULL;
    if (call->has_alternatives && call->beginning)
        c.alternatives = (int64_t)call->n_best;
    if (!*is_open &&
        loaded_translator(&t->model, translator, &c, call->is_cancelled, err) != OK) {
        translate_close(translator);
        return err->code;
    }
    *is_open = true;
    translator->config.alternatives = c.alternatives; /* each may want another number */
    return OK;
}

/* Tabs become blanks, since one parts a line from its beginning. */
static void put_spaced(struct str *text, struct line part)
{
    for (size_t i = 0; i < part.n_bytes; i++)
        str_putc(text, part.text[i] == '\t' ? ' ' : part.text[i]);
}

/* The lines with the beginning behind each, as such a translator reads them. */
static status begin_lines(const struct translators_call *call, struct str *text,
                          struct line *lines, struct err *err)
{
    const struct line beginning = {call->beginning, strlen(call->beginning)};

    for (size_t i = 0; i < call->n; i++) {
        put_spaced(text, call->lines[i]);
        str_putc(text, '\t');
        put_spaced(text, beginning);
    }
    const char *at = str_text(text);
    for (size_t i = 0; i < call->n; i++) {
        lines[i] = (struct line){at, call->lines[i].n_bytes + 1 + beginning.n_bytes};
        at += lines[i].n_bytes;
    }
    return str_check(text, "the lines and their beginnings", err);
}

status translators_run(struct translators *t, const struct translators_call *call,
                       struct translations *out, struct err *err)
{
    RELEASED_BY(mem_release) struct line *lines = NULL;
    RELEASED_BY(str_release) struct str text = str_new(0);
    struct translator *translator = &t->seat[call->seat].of[kind_of(call)];

    TRY(open_translator(t, call, translator, err));
    translator->n_done_before = translator->n_done; /* messages number a call's lines */
    if (!call->beginning)
        return translate_lines(translator, call->lines, call->n, out, err);
    TRY(mem_alloc(&lines, call->n, sizeof *lines, err));
    TRY(begin_lines(call, &text, lines, err));
    return translate_lines(translator, lines, call->n, out, err);
}
