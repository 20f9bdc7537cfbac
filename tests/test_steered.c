/* Searches over a real model that are told what to say: every number can be computed
 * again, and none depends on threads, workers or the other sentences. */
#include "searched.h"

#include "decode/steer/guide.h"

/* Text of the vocabulary: ids 4 to 12 begin a word. */
static void open_letters(struct letters *l)
{
    static char text[VOCAB][4];
    const char *list[VOCAB];

    for (size_t i = 0; i < VOCAB; i++) {
        if (i >= 4)
            snprintf(text[i], sizeof text[i], "%s%c", i < 13 ? " " : "",
                     (char)('a' + (int)i - 4));
        list[i] = text[i];
    }
    CHECK_OK(letters_open_texts(l, list, VOCAB, &err), &err);
}

static void run_jobs(struct setup *s, struct search_rules rules,
                     struct engine_options how, const struct search_job *jobs, size_t n,
                     struct found *found)
{
    *found = (struct found){0};
    CHECK_OK(engine_open(&s->search, &s->network, rules, how, &err), &err);
    CHECK_OK(search_run(s->search, jobs, n, store, found, &err), &err);
    CHECK(found->n_done == n);
    s->search->close(s->search);
    s->search = NULL;
}

static const struct engine_options *one_thread(void)
{
    static struct engine_options o = {.n_threads = 1};

    o.kernels = kernels_choose("cpu");
    return &o;
}

/* All divisions among threads and all kernels give the same bytes with int8 weights. */
static void check_divisions(struct setup *s, struct search_rules rules,
                            const struct search_job *jobs, size_t n)
{
    const struct infer_kernels *variant[8];
    const size_t n_variants = kernels_variants(variant, 8);
    static struct found first, next;
    const struct {
        size_t n_threads, n_workers, n_slots;
    } how[] = {{1, 0, 0}, {3, 1, 2}, {3, 3, 0}, {4, 2, 2}};

    pack(s, true);
    for (size_t i = 0; i < n_variants * 4; i++) {
        const struct engine_options o = {.kernels = variant[i / 4],
                                         .n_threads = how[i % 4].n_threads,
                                         .n_workers = how[i % 4].n_workers,
                                         .n_slots = how[i % 4].n_slots};
        run_jobs(s, rules, o, jobs, n, i ? &next : &first);
        for (size_t k = 0; i && k < n; k++)
            check_same(&first.of[k], &next.of[k], 0);
    }
}

/* ---- given beginnings ---- */

static const int32_t given[] = {2, 7, 19, 4};

/* Every third sentence is free; the others have one to four tokens and then letters. */
static void give(struct search_job *jobs, size_t n, struct guide *guide,
                 const struct letters *letters)
{
    static const uint32_t rest[] = {' ', 'c', 'y'};

    for (size_t i = 0; i < n; i++) {
        jobs[i] = job_of(i % N);
        guide[i] = (struct guide){.letters = letters,
                                  .prefix = given,
                                  .n_prefix = 1 + i % 4,
                                  .rest = {rest, i % 4}};
        if (i % 3 == 0)
            continue;
        jobs[i].guide = &guide[i];
        jobs[i].max_len += guide[i].n_prefix + guide[i].rest.n;
    }
}

TEST(the_score_is_that_of_what_was_not_given)
{
    struct setup s;
    struct letters letters;
    struct guide guide[MANY];
    struct search_job jobs[MANY];
    static struct found found;
    struct search_rules rules = rules_of(4);

    rules.has_guides = true;
    open_letters(&letters);
    open_model(&s, false);
    pack(&s, false);
    give(jobs, MANY, guide, &letters);
    run_jobs(&s, rules, *one_thread(), jobs, MANY, &found);
    for (size_t i = 0; i < MANY; i++)
        for (size_t k = 0; k < found.of[i].n; k++) {
            const struct beam_hypothesis h = found.of[i].best[k].h;
            const struct guide *g = jobs[i].guide;
            const struct beam_hypothesis first = {.token = h.token, .n = h.n_given};
            CHECK(h.n_given == (g ? g->n_prefix : 0));
            CHECK(!g || memcmp(h.token, given, h.n_given * sizeof *given) == 0);
            const double p = forced_log_prob(&s, i % N, h) -
                             (h.n_given ? forced_log_prob(&s, i % N, first) : 0);
            CHECK_NEAR(h.log_prob, p, 1e-4);
            CHECK_NEAR(h.score, p / beam_penalty(h.n - h.n_given, 0.6), 1e-4);
            if (g && g->rest.n == 3) /* " c" and "y" are pieces */
                CHECK(h.token[h.n_given] == 6 && h.token[h.n_given + 1] == VOCAB - 1);
        }
    close_model(&s);
    letters_close(&letters);
}

TEST(given_beginnings_are_the_same_for_all_kernels_threads_workers_and_slots)
{
    struct setup s;
    struct letters letters;
    struct guide guide[MANY];
    struct search_job jobs[MANY];
    struct search_rules rules = rules_of(3);

    rules.has_guides = true;
    open_letters(&letters);
    open_model(&s, false);
    give(jobs, MANY, guide, &letters);
    check_divisions(&s, rules, jobs, MANY);
    close_model(&s);
    letters_close(&letters);
}

/* ---- forbidden phrases ---- */

/* Every letter that begins a word, and two phrases of two: what is left is rare. */
static void forbid(struct phrases *p)
{
    static const char *const list[] = {"a", "b", "c d", "en", "q", "f f"};

    *p = (struct phrases){0};
    for (size_t i = 0; i < 6; i++) {
        uint32_t code[8], ignored;
        for (size_t k = 0; k < strlen(list[i]); k++)
            code[k] = (uint32_t)list[i][k];
        const struct letters_text phrase = {code, strlen(list[i])};
        CHECK_OK(phrases_add(p, phrase, &ignored, &err), &err);
    }
    CHECK_OK(phrases_build(p, &err), &err);
}

TEST(what_is_forbidden_is_the_same_for_all_kernels_threads_workers_and_slots)
{
    struct setup s;
    struct letters letters;
    struct phrases forbidden;
    struct search_job jobs[MANY];
    struct search_rules rules = rules_of(3);

    rules.has_guides = true;
    rules.beam.n_extra = 2;
    open_letters(&letters);
    forbid(&forbidden);
    const struct guide g = {.letters = &letters, .forbidden = &forbidden};
    open_model(&s, false);
    for (size_t i = 0; i < MANY; i++) {
        jobs[i] = job_of(i % N);
        jobs[i].guide = &g;
    }
    check_divisions(&s, rules, jobs, MANY);
    close_model(&s);
    letters_close(&letters);
    phrases_release(&forbidden);
}

/* ---- samples ---- */

static struct search_rules sampling_rules(size_t n)
{
    struct search_rules rules = rules_of(n);

    rules.samples = true;
    rules.sampling = (struct sampler_options){0.9, 20, 0.95};
    rules.seed = 3;
    return rules;
}

TEST(samples_have_the_log_probabilities_of_the_model)
{
    struct setup s;
    struct search_job jobs[N];
    static struct found found;
    size_t n_different = 0;

    open_model(&s, false);
    pack(&s, false);
    for (size_t i = 0; i < N; i++)
        jobs[i] = job_of(i);
    run_jobs(&s, sampling_rules(4), *one_thread(), jobs, N, &found);
    for (size_t i = 0; i < N; i++) {
        CHECK(found.of[i].n == 4);
        for (size_t k = 0; k < 4; k++) {
            const struct beam_hypothesis h = found.of[i].best[k].h;
            CHECK_NEAR(h.log_prob, forced_log_prob(&s, i, h), 1e-4);
            n_different += k && memcmp(h.token, found.of[i].best[0].token,
                                       h.n * sizeof *h.token) != 0;
        }
    }
    CHECK(n_different > N);
    close_model(&s);
}

TEST(samples_are_the_same_for_all_kernels_threads_workers_and_slots)
{
    struct setup s;
    struct search_job jobs[MANY];

    open_model(&s, false);
    for (size_t i = 0; i < MANY; i++)
        jobs[i] = job_of(i % N);
    check_divisions(&s, sampling_rules(3), jobs, MANY);
    close_model(&s);
}
