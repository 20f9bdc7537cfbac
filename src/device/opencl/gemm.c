/*
 * Products by CLBlast, in fp32: operands of 16 bits are widened into memory of our own
 * first, and a result of 16 bits is rounded once, out of there.
 */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "device/opencl/opencl_state.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

/* m in floats, or as large a place for it; no memory: there is none left. */
static struct mat floats_of(struct opencl *o, int which, struct mat m)
{
    const size_t n_bytes = m.rows * m.cols * sizeof(float);
    struct err ignored;

    if (m.type == MAT_REAL)
        return m;
    if (o->floats_bytes[which] < n_bytes) {
        o->gpu.api->free(&o->gpu, o->floats[which]);
        o->floats_bytes[which] = 0;
        if (o->gpu.api->alloc(&o->gpu, &o->floats[which], n_bytes, &ignored) == OK)
            o->floats_bytes[which] = n_bytes;
    }
    return (struct mat){o->floats[which], 0, m.rows, m.cols, m.cols, MAT_REAL};
}

bool opencl_gemm(struct gpu *g, struct mat c, struct mat a, struct mat b, bool ta,
                 bool tb, float alpha, float beta)
{
    struct opencl *o = (struct opencl *)g;

    if (!o->has_blast)
        return false;
    const struct mat x = floats_of(o, 0, a), y = floats_of(o, 1, b),
                     z = floats_of(o, 2, c);
    if (!x.mem || !y.mem || !z.mem)
        return false; /* by our own kernel, which needs none */
    if (a.type == MAT_HALF)
        gpu_convert(g, x, a);
    if (b.type == MAT_HALF)
        gpu_convert(g, y, b);
    if (c.type == MAT_HALF && beta != 0)
        gpu_convert(g, z, c);
    if (g->failure.code != OK)
        return true;
    const int code =
        o->cl->sgemm(ROW_MAJOR, ta ? TRANSPOSED : PLAIN, tb ? TRANSPOSED : PLAIN, c.rows,
                     c.cols, ta ? a.rows : a.cols, alpha, x.mem, x.at, x.stride, y.mem,
                     y.at, y.stride, beta, z.mem, z.at, z.stride, &o->queue, NULL);
    if (code != 0)
        opencl_fail(o, code, "CLBlast's sgemm");
    if (c.type == MAT_HALF)
        gpu_convert(g, c, z);
    return true;
}
