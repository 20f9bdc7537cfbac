/* Gradients layer by layer: their sums and buckets are those of the elements, whoever has
 * counted them; in a training they add up to the global norm, whatever the ranks, and
 * looking at them changes nothing. */
#include <dirent.h>
#include <math.h>

#include "base/rng.h"
#include "dist/exchange/reducer.h"
#include "format/tf/tb_event.h"
#include "recipe/model_config.h"
#include "sim/comm_sim.h"
#include "toy_run.h"
#include "train/log/layer_gradients.h"

static struct err err;

static const struct model_config config = {.vocab_size = 37,
                                           .d_model = 20,
                                           .d_ff = 28,
                                           .heads = 2,
                                           .encoder_layers = 2,
                                           .decoder_layers = 1,
                                           .norm_epsilon = 1e-6};

/* A gradient of numbers of all sizes, ones that are nothing and ones that are huge. */
struct gradient {
    struct params params;
    struct device device;
    struct mat flat;
};

static void open_gradient(struct gradient *g)
{
    struct rng r = rng_open(11);
    float *x;

    *g = (struct gradient){0};
    CHECK_OK(params_open(&g->params, &config, &err), &err);
    CHECK_OK(
        device_open(&g->device, "cpu-plain", (struct device_options){.threads = 1}, &err),
        &err);
    CHECK_OK(device_alloc_row(&g->device, &g->flat, g->params.n_flat, &err), &err);
    x = calloc(g->params.n_flat, sizeof *x);
    CHECK(x);
    for (size_t i = 0; i < g->params.n_flat; i++)
        x[i] = (float)ldexp(rng_normal(&r), (int)rng_below(&r, 100) - 50);
    x[g->params.list[0].at] = 0;
    device_upload(&g->device, g->flat, x);
    free(x);
}

static void close_gradient(struct gradient *g)
{
    device_free(&g->device, g->flat.mem);
    device_close(&g->device);
    params_close(&g->params);
}

static struct comm alone = {.size = 1};

/* Element k of the list of tensors that the layer is made of; NAN behind the last. */
static double element(const struct gradient *g, const char *layer, size_t k)
{
    const float *x = g->flat.mem;

    for (size_t i = 0; i < g->params.n_list; i++) {
        const struct param *t = &g->params.list[i];
        char name[32];
        const bool is_decoder = t->block == BLOCK_DECODER;
        if (t->block == BLOCK_ENCODER || is_decoder)
            snprintf(name, sizeof name, "%s.%d", is_decoder ? "decoder" : "encoder",
                     t->layer);
        else
            snprintf(name, sizeof name, "%s",
                     t->block == BLOCK_EMBED         ? "embedding"
                     : t->block == BLOCK_ENCODER_END ? "encoder.end"
                                                     : "decoder.end");
        if (strcmp(name, layer) != 0)
            continue;
        if (k < t->rows * t->cols)
            return (double)x[t->at + k / t->cols * t->stride + k % t->cols];
        k -= t->rows * t->cols;
    }
    return NAN;
}

TEST(every_element_is_counted_once_in_its_layer_and_its_bucket)
{
    struct gradient g;
    struct layer_gradients l;
    double n_all = 0;

    open_gradient(&g);
    CHECK_OK(layer_gradients_open(&l, &g.params, &alone, NULL, 10, &err), &err);
    CHECK_OK(layer_gradients_take(&l, &g.device, g.flat, 4, &err), &err);
    CHECK(l.n == 6); /* embedding, two and one layers, two ends */
    for (size_t i = 0; i < l.n; i++) {
        const struct layer_gradient *p = &l.layer[i];
        double count[LAYER_GRADIENTS_BUCKETS] = {0}, square = 0, least = 0, most = 0;
        size_t n = 0;
        for (double x; x = element(&g, p->name, n) / 4, !isnan(x); n++) {
            size_t b = 0;
            while (b + 1 < LAYER_GRADIENTS_BUCKETS &&
                   (x > 0 ? x >= layer_gradients_edge(b) : x > layer_gradients_edge(b)))
                b++;
            count[b]++;
            square += x * x;
            least = fmin(least, x);
            most = fmax(most, x);
        }
        CHECK(p->sums.n == (double)n && p->least == least && p->most == most);
        CHECK_NEAR(p->sums.square / square, 1, 1e-9);
        CHECK(memcmp(count, p->sums.count, sizeof count) == 0);
        n_all += p->sums.n;
    }
    CHECK(n_all == (double)g.params.n_elements);
    layer_gradients_close(&l);
    close_gradient(&g);
}

TEST(edges_ascend_an_eighth_of_an_octave_at_a_time)
{
    for (size_t i = 1; i < LAYER_GRADIENTS_BUCKETS; i++)
        CHECK(layer_gradients_edge(i) > layer_gradients_edge(i - 1));
    CHECK(layer_gradients_edge(LAYER_GRADIENTS_SIDE) == ldexp(1, LAYER_GRADIENTS_LOW));
    CHECK(layer_gradients_edge(LAYER_GRADIENTS_SIDE + LAYER_GRADIENTS_FINE) ==
          ldexp(1, LAYER_GRADIENTS_LOW + 1));
    CHECK(layer_gradients_edge(LAYER_GRADIENTS_SIDE - 1) ==
          -ldexp(1, LAYER_GRADIENTS_LOW));
}

TEST(what_is_off_costs_nothing_and_is_never_due)
{
    struct layer_gradients l;
    struct gradient g;

    open_gradient(&g);
    CHECK_OK(layer_gradients_open(&l, &g.params, &alone, NULL, 0, &err), &err);
    CHECK(!l.flat && !l.layer && !layer_gradients_are_due(&l, 0));
    CHECK_OK(layer_gradients_open(&l, &g.params, &alone, NULL, 10, &err), &err);
    CHECK(layer_gradients_are_due(&l, 20) && !layer_gradients_are_due(&l, 21));
    layer_gradients_close(&l);
    close_gradient(&g);
}

/* ---- ranks ---- */

struct counting {
    const struct gradient *g;
    const struct layer_gradients *want;
};

/* Three ranks own parts that no tensor's borders know; the second has two. */
static void count_shards(struct comm *c, void *ctx)
{
    const struct counting *k = ctx;
    const size_t n = k->g->params.n_flat, cut[] = {0, n / 5 + 3, n / 2 + 1, n - 7, n};
    struct reducer_shard parts[3][2] = {
        {{cut[2], cut[3] - cut[2], 0}},
        {{cut[0], cut[1], 0}, {cut[3], cut[4] - cut[3], cut[1]}},
        {{cut[1], cut[2] - cut[1], 0}}};
    const struct reducer_shards mine = {
        .list = parts[c->rank], .n_list = c->rank == 1 ? 2 : 1, .comm = c};
    struct layer_gradients l;
    struct device d;
    struct err why = {0};

    CHECK_OK(device_open(&d, "cpu-plain", (struct device_options){.threads = 1}, &why),
             &why);
    CHECK_OK(layer_gradients_open(&l, &k->g->params, c, &mine, 1, &why), &why);
    CHECK_OK(layer_gradients_take(&l, &d, k->g->flat, 4, &why), &why);
    for (size_t i = 0; i < l.n; i++) {
        const struct layer_gradient *a = &l.layer[i], *b = &k->want->layer[i];
        CHECK(a->least == b->least && a->most == b->most && a->sums.n == b->sums.n);
        CHECK(memcmp(a->sums.count, b->sums.count, sizeof a->sums.count) == 0);
        CHECK_NEAR(a->sums.square / b->sums.square, 1, 1e-12);
    }
    layer_gradients_close(&l);
    device_close(&d);
}

TEST(ranks_that_own_parts_count_what_one_would)
{
    const int ranks[] = {2, 1};
    const struct comm_sim_options o = {.ranks = ranks, .n_nodes = 2, .seed = 3};
    struct gradient g;
    struct layer_gradients l;

    open_gradient(&g);
    CHECK_OK(layer_gradients_open(&l, &g.params, &alone, NULL, 1, &err), &err);
    CHECK_OK(layer_gradients_take(&l, &g.device, g.flat, 4, &err), &err);
    struct counting k = {&g, &l};
    CHECK_OK(comm_sim_run(&o, count_shards, &k, &err), &err);
    layer_gradients_close(&l);
    close_gradient(&g);
}

/* ---- in a training ---- */

static void event_file(char path[700], const char *run)
{
    DIR *dir = opendir(test_path(run));

    CHECK(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strncmp(e->d_name, "events.out", 10) == 0)
            snprintf(path, 700, "%s/%s", test_path(run), e->d_name);
    closedir(dir);
}

/* Squares of the layers' norms, and the global norm, at a step. */
static double squares_at(const char *run, int64_t step, double *global, size_t *n)
{
    struct tb_event_reader r;
    struct tb_event_point p;
    char path[700] = "";
    double square = 0;
    bool more = true;

    event_file(path, run);
    CHECK_OK(tb_event_read(&r, path, &err), &err);
    for (*n = 0;;) {
        CHECK_OK(tb_event_next(&r, &p, &more, &err), &err);
        if (!more)
            break;
        if (p.step != step)
            continue;
        if (strncmp(p.tag, "gradient_norm/", 14) == 0) {
            square += (double)p.value * (double)p.value;
            ++*n;
        }
        if (strcmp(p.tag, "Loss_Optimization/global_gradient_norm") == 0)
            *global = (double)p.value;
    }
    tb_event_read_close(&r);
    return square;
}

static void train_rank(struct comm *c, void *ctx)
{
    struct train_config *const *all = ctx;
    struct train_host host = {.comm = c};
    struct err why = {0};

    CHECK_OK(train_run(all[c->rank], &host, &why), &why);
}

static void train_ranks(const char *run, const char *const *more)
{
    const int ranks[] = {2, 2};
    const struct comm_sim_options o = {
        .ranks = ranks, .n_nodes = 2, .seed = 5, .is_parallel = true};
    struct train_config *all[4];

    for (int i = 0; i < 4; i++)
        all[i] = toy_config(run, more);
    CHECK_OK(comm_sim_run(&o, train_rank, all, &err), &err);
    for (int i = 0; i < 4; i++)
        free(all[i]);
}

#define SHOWN "log_gradients=5", "summary_every=5", "max_steps=10", "wire=fp32"

TEST(norms_of_layers_add_up_to_the_global_norm_for_any_ranks)
{
    static const char *const runs[] = {"one", "four", "shards"};
    double first = 0;

    toy_data();
    toy_train("one", TOY(SHOWN));
    train_ranks("four", TOY(SHOWN));
    train_ranks("shards", TOY(SHOWN, "shard_optimizer=true"));
    for (int i = 0; i < 3; i++)
        for (int64_t step = 5; step <= 10; step += 5) {
            double global = 0;
            size_t n;
            const double square = squares_at(runs[i], step, &global, &n);
            CHECK(n == 7 && global > 0);
            CHECK_NEAR(sqrt(square) / global, 1, 1e-5);
            if (step == 5 && i == 0)
                first = square;
            if (step == 5)
                CHECK_NEAR(square / first, 1, 1e-3);
        }
}

TEST(looking_at_gradients_changes_no_byte_of_the_weights)
{
    struct file_map a, b;

    toy_data();
    toy_train("seen", TOY("max_steps=10", "log_gradients=1"));
    toy_train("unseen", TOY("max_steps=10"));
    CHECK_OK(file_map_open(&a, test_path("seen/model.ckpt-10.data-00000-of-00001"), &err),
             &err);
    CHECK_OK(
        file_map_open(&b, test_path("unseen/model.ckpt-10.data-00000-of-00001"), &err),
        &err);
    CHECK(a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0);
    file_map_close(&a);
    file_map_close(&b);
}

TEST(nodes_that_follow_their_own_gradients_are_refused)
{
    toy_data();
    CHECK_FAILS(toy_try("run", TOY("log_gradients=5", "local_steps=4"), &err), &err,
                ERR_USAGE, "local_steps = 4");
}
