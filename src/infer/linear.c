#include "infer/linear.h"

#include <math.h>
#include <string.h>

size_t linear_bytes(enum linear_type type, size_t n_in, size_t n_out)
{
    return linear_round(n_out, LINEAR_PANEL) / LINEAR_PANEL *
           linear_panel_bytes(type, n_in);
}

static float source_at(struct linear_source w, size_t k, size_t n)
{
    return w.at[k * w.in + n * w.out];
}

void linear_pack_float(float *panel, struct linear_source w, size_t n_in, size_t n_out)
{
    for (size_t first = 0; first < n_out; first += LINEAR_PANEL)
        for (size_t k = 0; k < n_in; k++)
            for (size_t c = 0; c < LINEAR_PANEL; c++)
                *panel++ = first + c < n_out ? source_at(w, k, first + c) : 0;
}

/* The place of (k, n) in panels of int8. */
static size_t place_int8(size_t n_in, size_t k, size_t n)
{
    return n / LINEAR_PANEL * linear_panel_bytes(LINEAR_INT8, n_in) +
           (k / 4 * LINEAR_PANEL + n % LINEAR_PANEL) * 4 + k % 4;
}

/* The scales of columns [first, first + n), row by row, as they lie in memory. A damaged
 * weight must stay one: its column gets a scale that is not a number. */
static void panel_scales(float *scale, struct linear_source w, size_t n_in, size_t first,
                         size_t n)
{
    for (size_t k = 0; k < n_in; k++)
        for (size_t c = 0; c < n; c++) {
            const float x = fabsf(source_at(w, k, first + c)) / 127;
            if (!isfinite(x))
                scale[c] = NAN;
            else
                scale[c] = x > scale[c] ? x : scale[c];
        }
}

static int8_t nearest(float x)
{
    const float q = rintf(x);

    return (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
}

void linear_pack_int8(int8_t *panel, float *scale, int32_t *sum, struct linear_source w,
                      size_t n_in, size_t n_out)
{
    const size_t n_round = linear_round(n_out, LINEAR_PANEL);

    memset(panel, 0, linear_bytes(LINEAR_INT8, n_in, n_out));
    memset(scale, 0, n_round * sizeof *scale);
    memset(sum, 0, n_round * sizeof *sum);
    for (size_t first = 0; first < n_out; first += LINEAR_PANEL) {
        const size_t n = n_out - first < LINEAR_PANEL ? n_out - first : LINEAR_PANEL;
        panel_scales(scale + first, w, n_in, first, n);
        for (size_t k = 0; k < n_in; k++)
            for (size_t c = first; c < first + n; c++) {
                if (!(scale[c] > 0))
                    continue;
                const int8_t q = nearest(source_at(w, k, c) / scale[c]);
                panel[place_int8(n_in, k, c)] = q;
                sum[c] += q;
            }
    }
}

size_t linear_gather_bytes(const struct linear *w, size_t n)
{
    return linear_round(linear_bytes(w->type, w->n_in, n), 64) +
           3 * linear_round(n, LINEAR_PANEL) * sizeof(float);
}

/* A line is what a panel has at one input, or at four of int8. */
static void gather_panels(unsigned char *to, const struct linear *w, const uint16_t *id,
                          size_t n)
{
    const size_t panel = linear_panel_bytes(w->type, w->n_in);
    enum { LINE = LINEAR_PANEL * 4, EACH = 4 };

    if (n % LINEAR_PANEL) /* columns behind the last are multiplied too */
        memset(to + n / LINEAR_PANEL * panel, 0, panel);
    for (size_t c = 0; c < n; c++) {
        const unsigned char *from = (const unsigned char *)w->panel +
                                    id[c] / LINEAR_PANEL * panel +
                                    (size_t)id[c] % LINEAR_PANEL * EACH;
        unsigned char *at = to + c / LINEAR_PANEL * panel + c % LINEAR_PANEL * EACH;
        for (size_t line = 0; line < panel; line += LINE)
            memcpy(at + line, from + line, EACH);
    }
}

struct linear linear_gather(void *memory, const struct linear *w, const uint16_t *id,
                            size_t n)
{
    const size_t n_bytes = linear_round(linear_bytes(w->type, w->n_in, n), 64);
    const size_t n_round = linear_round(n, LINEAR_PANEL);
    float *scale = (float *)(void *)((char *)memory + n_bytes), *bias = scale + n_round;
    int32_t *sum = (int32_t *)(void *)(bias + n_round);

    gather_panels(memory, w, id, n);
    for (size_t c = 0; c < n_round; c++) {
        scale[c] = c < n && w->scale ? w->scale[id[c]] : 0;
        sum[c] = c < n && w->sum ? w->sum[id[c]] : 0;
        bias[c] = c < n && w->bias ? w->bias[id[c]] : 0;
    }
    return (struct linear){.type = w->type,
                           .n_in = w->n_in,
                           .n_out = n,
                           .panel = memory,
                           .scale = w->scale ? scale : NULL,
                           .sum = w->sum ? sum : NULL,
                           .bias = w->bias ? bias : NULL};
}

float linear_value(const struct linear *w, size_t k, size_t n)
{
    if (w->type == LINEAR_INT8)
        return w->scale[n] * (float)((const int8_t *)w->panel)[place_int8(w->n_in, k, n)];
    return (
        (const float *)
            w->panel)[(n / LINEAR_PANEL * w->n_in + k) * LINEAR_PANEL + n % LINEAR_PANEL];
}
