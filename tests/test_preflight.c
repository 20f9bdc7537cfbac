/* What all ranks must have alike or enough of; each refusal names the host. */
#include "train/run/preflight.h"

#include "corpus/dataset.h"
#include "sim/comm_sim.h"
#include "test.h"
#include "toy_run.h"

static const struct comm_peer peer[] = {
    {"a", 0, 0}, {"a", 0, 1}, {"b", 1, 0}, {"b", 1, 1}};
static const int leader[] = {0, 2};
static const struct comm four = {.size = 4, .n_nodes = 2, .peer = peer, .leader = leader};

/* Four ranks on two hosts that agree in everything. */
struct case_of {
    struct train_config config;
    struct preflight_options options;
    struct preflight_facts all[4];
    struct preflight found;
};

static void open_case(struct case_of *c)
{
    struct err err = {0};

    CHECK_OK(train_config_defaults(&c->config, &err), &err);
    c->options = (struct preflight_options){
        .config = &c->config, .checkpoint_mib = 700, .memory_mib = 1000};
    for (int r = 0; r < 4; r++)
        c->all[r] = (struct preflight_facts){.config = 22,
                                             .tokenizer = 33,
                                             .corpus = 44,
                                             .valid = 55,
                                             .clock = 1e9 + 0.01 * r,
                                             .free_mib = 2500,
                                             .disk_mib = r % 2 ? (double)NAN : 9000};
}

static status judge(struct case_of *c, struct err *err)
{
    return preflight_judge(&c->found, &four, c->all, c->options, err);
}

#define REFUSED(c, code, text)                           \
    do {                                                 \
        struct err err_ = {0};                           \
        CHECK_FAILS(judge(c, &err_), &err_, code, text); \
    } while (0)

TEST(ranks_that_agree_are_let_go)
{
    struct case_of c;
    struct err err = {0};

    open_case(&c);
    c.all[3].free_mib = 2400;
    c.all[2].disk_mib = 800;
    CHECK_OK(judge(&c, &err), &err);
    CHECK_NEAR(c.found.clock_spread, 0.02, 1e-6);
    CHECK(c.found.free_mib == 2400 && c.found.disk_mib == 800);
}

/* Node 0 has ranks 0 and 1, rank 0 judges. */
TEST(ranks_share_the_memory_of_a_host_or_of_a_card)
{
    struct case_of c;
    struct err err = {0};

    open_case(&c);
    CHECK_OK(judge(&c, &err), &err);
    CHECK(c.found.n_sharing == 2);
    for (int r = 0; r < 4; r++)
        c.all[r].card = 7; /* cards of other hosts may have the same number */
    CHECK_OK(judge(&c, &err), &err);
    CHECK(c.found.n_sharing == 2);
    c.all[1].card = 8;
    CHECK_OK(judge(&c, &err), &err);
    CHECK(c.found.n_sharing == 1);
}

TEST(another_program_is_refused_by_name)
{
    const struct preflight_program same = {11, 22, "Open MPI v4.1.4"};
    struct preflight_program all[] = {same, same, same, same};
    struct err err = {0};

    CHECK_OK(preflight_judge_programs(&four, all, &err), &err);
    all[3].program = 12;
    CHECK_FAILS(preflight_judge_programs(&four, all, &err), &err, ERR_USAGE,
                "rank 3 on host b has another ferry program than rank 0 on host a");
    all[3].program = 0; /* cannot tell */
    CHECK_OK(preflight_judge_programs(&four, all, &err), &err);
    all[3].module = 23;
    CHECK_FAILS(preflight_judge_programs(&four, all, &err), &err, ERR_USAGE,
                "rank 3 on host b has another module for MPI than rank 0 on host a");
    snprintf(all[2].library, sizeof all[2].library, "Open MPI v4.1.6");
    CHECK_FAILS(preflight_judge_programs(&four, all, &err), &err, ERR_USAGE,
                "rank 2 on host b has loaded Open MPI v4.1.6, rank 0 on host a Open MPI "
                "v4.1.4; install or load the same");
}

TEST(only_a_host_that_fails_alone_is_at_fault)
{
    struct case_of c;

    open_case(&c);
    c.all[2].disk_mib = 1;
    REFUSED(&c, ERR_IO, "the disk of rank 2 on host b");
    CHECK(c.found.fault == 1 + 2);
    c.all[0].disk_mib = 1;
    REFUSED(&c, ERR_IO, "the disk of rank 0 on host a");
    CHECK(c.found.fault < 0);
    open_case(&c);
    c.all[2].free_mib = c.all[3].free_mib = 10;
    REFUSED(&c, ERR_MEMORY, "host b has 10 MiB");
    CHECK(c.found.fault == 1 + 2 || c.found.fault == 1 + 3);
}

/* Five hosts of a rank each, of which the first and another have what they should not. */
TEST(what_most_have_is_right_and_the_first_that_differs_is_at_fault)
{
    static const struct comm_peer alone[] = {
        {"a", 0, 0}, {"b", 1, 0}, {"c", 2, 0}, {"d", 3, 0}, {"e", 4, 0}};
    static const int first[] = {0, 1, 2, 3, 4};
    const struct comm five = {.size = 5, .n_nodes = 5, .peer = alone, .leader = first};
    struct preflight_facts all[5];
    struct preflight_program run[5] = {{0}};
    struct preflight found;
    struct err err = {0};
    struct case_of c;

    open_case(&c);
    for (int r = 0; r < 5; r++)
        all[r] = c.all[0];
    all[0].corpus = 43; /* an old copy */
    CHECK_FAILS(preflight_judge(&found, &five, all, c.options, &err), &err, ERR_USAGE,
                "rank 0 on host a has another corpus than rank 1 on host b");
    CHECK(found.fault == 1 + 0);
    all[3].corpus = 42;
    CHECK_FAILS(preflight_judge(&found, &five, all, c.options, &err), &err, ERR_USAGE,
                "rank 0 on host a has another corpus than rank 1 on host b");
    CHECK(found.fault == 1 + 0);
    all[1].corpus = 43; /* no majority: nobody is left out */
    CHECK_FAILS(preflight_judge(&found, &five, all, c.options, &err), &err, ERR_USAGE,
                "another corpus");
    CHECK(found.fault < 0);
    for (int r = 0; r < 5; r++) {
        all[r].corpus = 44;
        all[r].disk_mib = r == 1 || r == 4 ? 1 : 9000; /* two are full */
        run[r].program = r ? 11 : 12;
    }
    CHECK_FAILS(preflight_judge(&found, &five, all, c.options, &err), &err, ERR_IO,
                "the disk of rank 1 on host b");
    CHECK(found.fault == 1 + 1);
    CHECK_FAILS(preflight_judge_programs(&five, run, &err), &err, ERR_USAGE,
                "rank 0 on host a has another ferry program than rank 1 on host b");
}

TEST(another_configuration_tokenizer_or_corpus_is_refused_by_name)
{
    struct case_of c;

    open_case(&c);
    c.all[2].config++;
    REFUSED(&c, ERR_USAGE, "rank 2 on host b has another configuration");
    c.all[2].config--;
    snprintf(c.all[3].kind, sizeof c.all[3].kind, "cuda");
    REFUSED(&c, ERR_USAGE, "rank 3 on host b has another kind of device than rank 0");
    memset(c.all[3].kind, 0, sizeof c.all[3].kind);
    c.all[1].tokenizer++;
    REFUSED(&c, ERR_USAGE, "rank 1 on host a has another tokenizer");
    c.all[1].tokenizer--;
    c.all[3].corpus++;
    REFUSED(&c, ERR_USAGE, "rank 3 on host b has another corpus");
    c.all[3].corpus--;
    c.all[2].valid = 0;
    REFUSED(&c, ERR_USAGE, "rank 2 on host b has another corpus");
}

TEST(a_disk_without_room_for_a_checkpoint_is_refused_by_name)
{
    struct case_of c;
    struct err err = {0};

    open_case(&c);
    c.all[2].disk_mib = 650;
    REFUSED(&c, ERR_IO,
            "the disk of rank 2 on host b has 650 MiB left, one checkpoint needs 700");
    c.all[2].disk_mib = NAN; /* writes nothing */
    CHECK_OK(judge(&c, &err), &err);
}

TEST(the_ranks_of_a_host_need_their_memory_together)
{
    struct case_of c;
    struct err err = {0};

    open_case(&c);
    c.all[2].free_mib = c.all[3].free_mib = 1900; /* enough for one */
    REFUSED(&c, ERR_MEMORY,
            "host b has 1900 MiB of memory left, its 2 ranks need at least 2000");
    c.all[2].free_mib = c.all[3].free_mib = NAN; /* cannot tell */
    CHECK_OK(judge(&c, &err), &err);
}

TEST(a_clock_far_from_the_others_is_refused_by_name)
{
    struct case_of c;
    struct err err = {0};

    open_case(&c);
    c.all[2].clock += 61;
    c.all[3].clock += 61;
    REFUSED(&c, ERR_USAGE,
            "the clock of rank 2 on host b is 61 s ahead of that of rank 0 on host a");
    CHECK(c.found.fault < 0); /* one of two is wrong, whichever it is */
    c.config.clock_limit = 0;
    CHECK_OK(judge(&c, &err), &err);
    c.config.clock_limit = 62;
    CHECK_OK(judge(&c, &err), &err);
    CHECK(c.found.clock_rank == 2 && c.found.clock_spread > 61);
}

TEST(clocks_are_compared_by_host_not_by_rank)
{
    static const struct comm_peer uneven[] = {
        {"a", 0, 0}, {"a", 0, 1}, {"b", 1, 0}, {"c", 2, 0}};
    static const int first[] = {0, 2, 3};
    const struct comm three = {.size = 4, .n_nodes = 3, .peer = uneven, .leader = first};
    struct err err = {0};
    struct case_of c;

    open_case(&c);
    c.all[0].clock -= 100;
    c.all[1].clock -= 100;
    CHECK_FAILS(preflight_judge(&c.found, &three, c.all, c.options, &err), &err,
                ERR_USAGE,
                "the clock of rank 0 on host a is 100 s behind that of rank 2 on host b");
    CHECK(c.found.fault == 1 + 0);
    c.all[3].clock += 100;
    CHECK_FAILS(preflight_judge(&c.found, &three, c.all, c.options, &err), &err,
                ERR_USAGE, "the clock of rank");
    CHECK(c.found.fault < 0);
}

/* ---- with real files, through a training run of two simulated ranks ---- */

struct job {
    struct train_config *config[2];
    status result[2];
    struct err err[2];
};

static void run_rank(struct comm *c, void *ctx)
{
    struct job *j = ctx;
    struct train_host host = {.comm = c};

    j->result[c->rank] = train_run(j->config[c->rank], &host, &j->err[c->rank]);
}

/* Two ranks on two nodes, the second one with this directory and option. */
static void train(struct job *j, const char *data, const char *option)
{
    static const int nodes[] = {1, 1};
    const struct comm_sim_options o = {.ranks = nodes, .n_nodes = 2, .is_parallel = true};
    struct err err = {0};

    *j = (struct job){.config = {toy_config("run", TOY("max_steps=3")),
                                 toy_config("run", TOY("max_steps=3", option))}};
    CHECK_OK(opt_set(train_config_table, j->config[1], "data", test_path(data), &err),
             &err);
    CHECK_OK(comm_sim_run(&o, run_rank, j, &err), &err);
    for (int r = 0; r < 2; r++)
        free(j->config[r]);
}

/* Both ranks refuse with the same words. */
static void check_refused(const char *data, const char *option, const char *words)
{
    struct job j;

    train(&j, data, option);
    for (int r = 0; r < 2; r++)
        CHECK_FAILS(j.result[r], &j.err[r], ERR_USAGE, words);
}

TEST(a_host_with_other_options_or_other_data_does_not_train)
{
    struct job j;

    toy_data();
    check_refused("data", "relu_dropout=0.2", "rank 1 on host");
    check_refused("data", "relu_dropout=0.2", "has another configuration than rank 0");
    toy_data_as("longer", 1000, NULL);
    check_refused("longer", "seed=1", "has another tokenizer than rank 0");
    toy_data_as("other", 1000, "data/vocab.model");
    check_refused("other", "seed=1", "has another corpus than rank 0");
    char also[300];
    snprintf(also, sizeof also, "also_data=%s", test_path("other"));
    check_refused("data", also, "has another corpus than rank 0");
    snprintf(also, sizeof also, "also_valid=%s", test_path("other"));
    check_refused("data", also, "has another corpus than rank 0");
    toy_data_as("same", 0, NULL); /* where things are may differ */
    train(&j, "same", "seed=1");
    for (int r = 0; r < 2; r++)
        CHECK_OK(j.result[r], &j.err[r]);
}

/* Flip a bit in the middle of a file. */
static void damage(const char *name)
{
    FILE *f = fopen(test_path(name), "r+be");

    CHECK(f && fseek(f, 0, SEEK_END) == 0);
    const long middle = ftell(f) / 2;
    CHECK(fseek(f, middle, SEEK_SET) == 0);
    const int byte = fgetc(f);
    CHECK(byte >= 0 && fseek(f, middle, SEEK_SET) == 0 && fputc(byte ^ 1, f) >= 0);
    CHECK(fclose(f) == 0);
}

/* What a corpus says of itself at its end is the same then. */
TEST(damage_in_one_hosts_copy_of_the_data_ends_the_run_by_name)
{
    struct job j;

    toy_data();
    toy_data_as("copy", 0, NULL);
    damage("copy/train.bin");
    train(&j, "copy", "seed=1");
    for (int r = 0; r < 2; r++) {
        CHECK_FAILS(j.result[r], &j.err[r], ERR_FORMAT, "rank 1 on host");
        CHECK(strstr(j.err[r].msg, "train.bin"));
    }
}
