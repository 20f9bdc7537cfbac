/*
 * One of several ranks goes wrong in training: its gradient or its weights. The linker
 * puts a function of this file in front of model_backward (cmake/tests.cmake), which
 * spoils what the real one made.
 */
#include "model/model.h"
#include "sim/comm_sim.h"
#include "test.h"
#include "toy_run.h"
#include "train/trainer.h"

enum { N_RANKS = 4, BAD_CALL = 12 };

/* Ranks on each of two nodes; the first one of the second is the bad one. */
static int per_node = 2;

enum harm {
    NO_HARM,
    HUGE_GRADIENT,
    NAN_GRADIENT,
    NAN_GRADIENTS, /* from then on */
    CHANGED_WEIGHT,
    NAN_WEIGHT
};

static enum harm harm;
static _Thread_local int rank, n_calls;

void __real_model_backward(struct model *m, const struct model_hook *hook);
void __wrap_model_backward(struct model *m, const struct model_hook *hook);

/* The hook sends slices as they are finished: harm must come before. */
void __wrap_model_backward(struct model *m, const struct model_hook *hook)
{
    const bool has_begun = rank == per_node && ++n_calls >= BAD_CALL;
    const bool is_time = has_begun && n_calls == BAD_CALL;
    const struct mat bias = m->g.stack[STACK_DECODER].layer[0].ff.b1;
    float *gradient = bias.mem, *weight = m->flat.mem;

    gradient += bias.at;
    if (is_time && harm == HUGE_GRADIENT)
        gradient[7] = 1e6F; /* gradients of vectors accumulate */
    if ((is_time && harm == NAN_GRADIENT) || (has_begun && harm == NAN_GRADIENTS))
        gradient[7] = NAN;
    __real_model_backward(m, hook);
    if (is_time && harm == CHANGED_WEIGHT)
        weight[7] *= 2;
    if (is_time && harm == NAN_WEIGHT)
        weight[7] = NAN;
}

struct job {
    char run[16];
    struct train_config *config;
    FILE *console;
    status result[N_RANKS];
    struct err err[N_RANKS];
};

static void run_rank(struct comm *c, void *ctx)
{
    struct job *j = ctx;
    struct train_host host = {.comm = c, .console = c->rank == 0 ? j->console : NULL};

    rank = c->rank;
    n_calls = 0;
    j->result[c->rank] = train_run(j->config, &host, &j->err[c->rank]);
}

#define USUAL "max_steps=30", "wire=fp32", "replica_check_every=10"

/* Train on two nodes with this harm and these options; what the first rank
 * said in `said`. */
static void train_in(const char *const *options, struct job *j, enum harm what,
                     char *said, size_t n)
{
    static int n_runs;
    const int nodes[] = {per_node, per_node};
    const struct comm_sim_options o = {.ranks = nodes, .n_nodes = 2, .is_parallel = true};
    struct err err = {0};

    harm = what;
    toy_data();
    *j = (struct job){.console = tmpfile()};
    snprintf(j->run, sizeof j->run, "run%d", n_runs++);
    j->config = toy_config(j->run, options);
    CHECK(j->console);
    CHECK_OK(comm_sim_run(&o, run_rank, j, &err), &err);
    rewind(j->console);
    said[fread(said, 1, n - 1, j->console)] = '\0';
    fclose(j->console);
    free(j->config);
}

static bool has_checkpoint(const struct job *j, int step)
{
    char name[64];

    snprintf(name, sizeof name, "%s/model.ckpt-%d.index", j->run, step);
    return file_exists(test_path(name));
}

static void train(struct job *j, enum harm what, char *said, size_t n)
{
    train_in(TOY(USUAL), j, what, said, n);
}

/* The same where every rank must come to the end. */
static void train_to_the_end(enum harm what, char *said, size_t n)
{
    struct job j;

    train(&j, what, said, n);
    for (int r = 0; r < N_RANKS; r++)
        CHECK_OK(j.result[r], &j.err[r]);
}

TEST(sound_ranks_are_not_suspected)
{
    char said[8192];

    train_to_the_end(NO_HARM, said, sizeof said);
    CHECK(!strstr(said, "rank 2"));
}

TEST(a_rank_with_a_gradient_far_from_the_others_is_named_and_training_goes_on)
{
    char said[8192];

    train_to_the_end(HUGE_GRADIENT, said, sizeof said);
    CHECK(strstr(said, "step 12: rank 2 on host"));
    CHECK(strstr(said, "its memory or processor may be faulty"));
}

/* The embedding goes out in two parts then, and its square is taken before each. */
TEST(the_norms_of_ranks_are_the_same_in_small_buckets)
{
    static const char *const bucket[] = {"bucket_mib=25", "bucket_mib=0.002"};
    char said[2][8192];
    const char *norms[2];
    struct job j;

    for (int i = 0; i < 2; i++) {
        train_in(TOY(USUAL, bucket[i]), &j, HUGE_GRADIENT, said[i], sizeof said[i]);
        norms[i] = strstr(said[i], "step 12: rank 2 on host");
        CHECK(norms[i]);
        norms[i] = strstr(norms[i], "gradient norm");
    }
    CHECK(strncmp(norms[0], norms[1], strcspn(norms[0], ";")) == 0);
}

TEST(a_rank_with_a_gradient_that_is_no_number_is_named_and_the_update_skipped)
{
    char said[8192];

    train_to_the_end(NAN_GRADIENT, said, sizeof said);
    CHECK(strstr(said, "step 12 skipped"));
    CHECK(strstr(said, "rank 2 on host"));
}

TEST(a_rank_whose_weights_differ_ends_the_run_by_name)
{
    char said[8192];
    struct job j;

    train(&j, CHANGED_WEIGHT, said, sizeof said);
    for (int r = 0; r < N_RANKS; r++)
        CHECK_FAILS(j.result[r], &j.err[r], ERR_DEVICE,
                    "step 20: the weights of rank 2 on host");
}

TEST(which_of_two_ranks_has_wrong_weights_is_not_guessed)
{
    char said[8192];
    struct job j;

    per_node = 1;
    train(&j, CHANGED_WEIGHT, said, sizeof said);
    per_node = 2;
    for (int r = 0; r < 2; r++) {
        CHECK_FAILS(j.result[r], &j.err[r], ERR_DEVICE,
                    "step 20: the weights of rank 0 on host");
        CHECK(strstr(j.err[r].msg, "and rank 1 on host"));
        CHECK(strstr(j.err[r].msg, "it cannot be told whose are wrong"));
    }
}

TEST(wrong_weights_are_not_saved)
{
    char said[8192];
    struct job j;

    train_in(TOY("max_steps=30", "save_every=14", "replica_check_every=1000"), &j,
             CHANGED_WEIGHT, said, sizeof said);
    for (int r = 0; r < N_RANKS; r++)
        CHECK_FAILS(j.result[r], &j.err[r], ERR_DEVICE,
                    "step 14: the weights of rank 2 on host");
    CHECK(has_checkpoint(&j, 0) && !has_checkpoint(&j, 14));
}

TEST(a_node_that_trains_alone_and_leaves_out_every_update_ends_the_run_by_name)
{
    char said[8192];
    struct job j;

    train_in(TOY(USUAL, "local_steps=4", "skip_limit=8"), &j, NAN_GRADIENTS, said,
             sizeof said);
    for (int r = 0; r < N_RANKS; r++)
        CHECK_FAILS(j.result[r], &j.err[r], ERR_NUMERIC,
                    "step 20: the last 9 updates of rank 2 on host");
}

TEST(a_node_that_trains_alone_and_leaves_out_few_updates_goes_on)
{
    char said[8192];
    struct job j;

    train_in(TOY(USUAL, "local_steps=4", "skip_limit=1"), &j, NAN_GRADIENT, said,
             sizeof said);
    for (int r = 0; r < N_RANKS; r++)
        CHECK_OK(j.result[r], &j.err[r]);
}

TEST(a_node_with_a_weight_that_is_no_number_ends_the_run_when_nodes_average)
{
    char said[8192];
    struct job j;

    train_in(TOY(USUAL, "local_steps=7"), &j, NAN_WEIGHT, said, sizeof said);
    for (int r = 0; r < N_RANKS; r++)
        CHECK_FAILS(j.result[r], &j.err[r], ERR_DEVICE,
                    "step 14: weights that a node brought to the average are not finite "
                    "(rank 2 on host");
}
