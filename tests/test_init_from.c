/* A run begins with the weights of a packed model: exactly those of a file in float, near
 * those of one in int8; one of another shape is refused with what differs. */
#include <math.h>

#include "decode/model_dir.h"
#include "pack/packing.h"
#include "toy_run.h"

static struct err err;

static const char *in_run(const char *run, const char *name)
{
    char part[300];

    snprintf(part, sizeof part, "%s/%s", run, name);
    return test_path(part);
}

static void pack_run(const char *run, const char *out, const char *precision)
{
    struct packing_config how;
    FILE *nowhere = fopen("/dev/null", "w");

    CHECK(nowhere);
    CHECK_OK(opt_defaults(packing_options, &how, &err), &err);
    CHECK_OK(opt_set(packing_options, &how, "out", out, &err), &err);
    CHECK_OK(opt_set(packing_options, &how, "precision", precision, &err), &err);
    how.threads = 1;
    CHECK_OK(packing_run(&how, run, "a test", nowhere, NULL, &err), &err);
    fclose(nowhere);
}

/* The largest difference of a weight, and the largest weight, of two checkpoints. */
static double compare(const char *a, const char *b, double *largest)
{
    struct model_dir dir[2];
    struct params p;
    float *flat[2];
    double most = 0;

    for (int i = 0; i < 2; i++) {
        CHECK_OK(model_dir_open(&dir[i], i ? b : a, "last", &err), &err);
        CHECK_OK(params_open(&p, &dir[i].config, &err), &err);
        flat[i] = calloc(p.n_flat, sizeof **flat);
        CHECK(flat[i]);
        CHECK_OK(model_dir_read_weights(&dir[i], &p, false, flat[i], &err), &err);
        model_dir_close(&dir[i]);
        if (i == 0)
            params_close(&p);
    }
    *largest = 0;
    for (size_t i = 0; i < p.n_flat; i++) {
        most = fmax(most, fabs((double)flat[0][i] - (double)flat[1][i]));
        *largest = fmax(*largest, fabs((double)flat[0][i]));
    }
    params_close(&p);
    free(flat[0]);
    free(flat[1]);
    return most;
}

TEST(a_run_begins_with_the_weights_of_a_packed_model)
{
    char from[400], file[300], run[300], first[300];
    double largest;

    toy_data();
    toy_train("a", TOY("max_steps=5"));
    snprintf(run, sizeof run, "%s", test_path("a"));
    snprintf(first, sizeof first, "%s", in_run("a", "model.ckpt-5"));
    snprintf(file, sizeof file, "%s", test_path("a.ferry"));
    snprintf(from, sizeof from, "init_from=%s", file);

    pack_run(run, file, "fp32");
    toy_train("b", TOY("max_steps=0", from));
    CHECK(compare(first, in_run("b", "model.ckpt-0"), &largest) == 0);
    CHECK(largest > 0);

    pack_run(run, file, "int8");
    toy_train("c", TOY("max_steps=0", from));
    const double most = compare(first, in_run("c", "model.ckpt-0"), &largest);
    CHECK(most > 0 && most <= largest / 127);

    CHECK_FAILS(toy_try("d", TOY("max_steps=0", from, "d_ff=48"), &err), &err, ERR_USAGE,
                "is another model; train it with d_ff=24");
}
