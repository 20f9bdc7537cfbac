/*
 * ferry.h - translation in a program of one's own (docs/library.md).
 *
 *     struct ferry *model;
 *     struct ferry_result *r;
 *     struct ferry_error error;
 *     if (ferry_open(&model, "demo.ferry", NULL, &error) != FERRY_OK) ...
 *     if (ferry_translate(model, "Die Fähre wartet.", NULL, &r, &error) == FERRY_OK)
 *         puts(ferry_result_text(r, 0, 0));
 *     ferry_result_free(r);
 *     ferry_close(model);
 *
 * Threads: any number of threads may call anything with the same model at the same time;
 * their texts join the same batches. A result belongs to whoever asked for it.
 *
 * The library prints nothing, ends no process (but for a bug of its own, which it would
 * be wrong to go on after), installs no signal handler and leaves no thread behind when
 * the last model is closed. Models share a list of mapped files and tables of checksums.
 *
 * Structs of options begin with their size, so that they can grow: what a program was
 * compiled without has its default. Begin with FERRY_..._OPTIONS and change what matters.
 */
#ifndef FERRY_H
#define FERRY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FERRY_API __attribute__((visibility("default")))

/* "0.2.0" */
FERRY_API const char *ferry_version(void);

enum ferry_status {
    FERRY_OK = 0,
    FERRY_USAGE = 2,   /* an option or argument that cannot be */
    FERRY_IO = 3,      /* the operating system refused */
    FERRY_FORMAT = 4,  /* a file or text that is malformed */
    FERRY_MEMORY = 5,  /* out of memory */
    FERRY_DEVICE = 6,  /* a thread could not be started */
    FERRY_NUMERIC = 8, /* the model's weights are damaged */
    FERRY_CANCELLED = 10
};

/* What failed, in one sentence. Filled when a function does not return FERRY_OK; NULL
 * where nobody wants to know. */
struct ferry_error {
    int status;
    char text[1024];
};

/* ---- a model ---- */

struct ferry;

struct ferry_open_options {
    size_t size;
    unsigned threads;       /* 0: one a core */
    const char *checkpoint; /* of a run: NULL: the best there is */
    int no_shortlist;       /* compute the whole vocabulary even if the file has one */
    int reserved;           /* 0; a later field is not to lie where older ones end */
};
#define FERRY_OPEN_OPTIONS                               \
    {                                                    \
        sizeof(struct ferry_open_options), 0, NULL, 0, 0 \
    }

/* A packed model, the directory of a run, or a model of another program (docs/models.md).
 * `options` NULL: the defaults. */
FERRY_API int ferry_open(struct ferry **model, const char *path,
                         const struct ferry_open_options *options,
                         struct ferry_error *error);

/* NULL is fine. No other call with this model may be under way; results stay. */
FERRY_API void ferry_close(struct ferry *model);

/* "de"; "" where the model does not know. Live as long as the model. */
FERRY_API const char *ferry_source_language(const struct ferry *model);
FERRY_API const char *ferry_target_language(const struct ferry *model);

/* ---- translation ---- */

/* Zeroed = not cancelled. May be given to several calls, and outlives them. */
struct ferry_cancel {
    unsigned char is_cancelled;
};

/* By any thread: calls that were given *c end soon, with FERRY_CANCELLED. */
FERRY_API void ferry_cancel(struct ferry_cancel *c);

struct ferry_translate_options {
    size_t size;
    int beam;            /* hypotheses kept at each step, 1 .. 64 */
    int nbest;           /* translations of each text, at most beam */
    int greedy;          /* the fastest: the likeliest token each time; beam is 1 then */
    double alpha;        /* larger prefers longer translations */
    int max_length;      /* tokens of a source sentence; longer ones are divided */
    int alignments;      /* which bytes belong together: ferry_result_links() */
    const char *forbid;  /* file of phrases that no translation may hold; NULL: none */
    const char *require; /* file of source term TAB what its translation must say */
    struct ferry_cancel *cancel; /* NULL: never */
};
#define FERRY_TRANSLATE_OPTIONS                                                        \
    {                                                                                  \
        sizeof(struct ferry_translate_options), 4, 1, 0, 0.6, 256, 0, NULL, NULL, NULL \
    }

struct ferry_result;

/* One text, or n of them, in UTF-8; line ends stay where they are. What is not UTF-8 is
 * read as U+FFFD. `options` NULL: the defaults. */
FERRY_API int ferry_translate(struct ferry *model, const char *text,
                              const struct ferry_translate_options *options,
                              struct ferry_result **result, struct ferry_error *error);
FERRY_API int ferry_translate_many(struct ferry *model, const char *const *texts,
                                   size_t n,
                                   const struct ferry_translate_options *options,
                                   struct ferry_result **result,
                                   struct ferry_error *error);

/* How many translations text i has, at least one; and one of them, the best being rank 0.
 * They live as long as the result. NULL, 0: there is none such. */
FERRY_API size_t ferry_result_count(const struct ferry_result *r, size_t i);
FERRY_API const char *ferry_result_text(const struct ferry_result *r, size_t i,
                                        size_t rank);

/* Its log-probability over the length penalty; of several lines the sum of theirs. */
FERRY_API double ferry_result_score(const struct ferry_result *r, size_t i, size_t rank);

/* Bytes of a text and of its translation that belong together. */
struct ferry_link {
    size_t source_begin, source_end;
    size_t target_begin, target_end;
};

/* Those of one translation; how many. */
FERRY_API size_t ferry_result_links(const struct ferry_result *r, size_t i, size_t rank,
                                    const struct ferry_link **links);
FERRY_API void ferry_result_free(struct ferry_result *r); /* NULL is fine */

/* ---- scores of given translations ---- */

/* log_prob[i]: natural logarithm of the probability of targets[i] given sources[i];
 * n_tokens[i], unless NULL: of how many tokens, the end counted. Lines of text, of which
 * at most 256 tokens are read. */
FERRY_API int ferry_score(struct ferry *model, const char *const *sources,
                          const char *const *targets, size_t n, double *log_prob,
                          size_t *n_tokens, struct ferry_error *error);

#ifdef __cplusplus
}
#endif
#endif
