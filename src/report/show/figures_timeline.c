/* A typical step of each rank, its phases side by side in time. */
#include <math.h>

#include "page/fmt.h"
#include "page/page.h"
#include "report/judge/run.h"
#include "report/show/figures.h"

enum { ROWS_MAX = 16, ROW = 26, LEFT = 96, WIDTH = 400, NAME_SHOWN = 12 };

static double write_phase(struct str *out, double at, double t, double scale, double y,
                          double height, int color)
{
    if (t > 0)
        str_printf(out,
                   "<rect class=\"area c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%.1f\"/>",
                   color, LEFT + at * scale, y, t * scale, height);
    return at + fmax(0, t); /* which ignores a NAN */
}

static void write_lane(struct str *out, const struct rank_mean *m, const char *name,
                       double scale, size_t row)
{
    const double y = (double)row * ROW + 2;
    double at = 0;

    str_printf(out, "<text x=\"0\" y=\"%.1f\">", y + 12);
    page_text(out, name);
    str_puts(out, "</text>");
    at = write_phase(out, at, m->t_data, scale, y, 16, 3);
    at = write_phase(out, at, m->t_compute, scale, y, 16, 1);
    if (m->t_hidden > 0)
        write_phase(out, fmax(0, at - m->t_hidden), m->t_hidden, scale, y + 17, 4, 5);
    at = write_phase(out, at, m->t_comm, scale, y, 16, 2);
    at = write_phase(out, at, m->t_update, scale, y, 16, 4);
    write_phase(out, at, m->t_step - at, scale, y, 16, 6);
    str_putc(out, '\n');
}

static void write_keys(struct str *out)
{
    static const struct {
        int color;
        const char *name;
    } key[] = {{3, "waiting for data"}, {1, "computing"},        {2, "waiting, exchange"},
               {4, "updating weights"}, {5, "exchange, hidden"}, {6, "other"}};

    str_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        str_printf(out, "<li><i class=\"c%d\"></i>%s</li>", key[i].color, key[i].name);
    str_puts(out, "</ul>\n");
}

void figures_timeline(struct str *out, const struct run *run)
{
    const struct rank_means *r = &run->by_rank;
    const struct run_pace *p = &run->pace;
    const struct rank_mean all = {.t_data = p->t_data,
                                  .t_compute = p->t_compute,
                                  .t_hidden = p->t_hidden,
                                  .t_comm = p->t_comm,
                                  .t_update = p->t_update,
                                  .t_step = p->mean};
    const struct rank_mean *of = r->n ? r->of : &all;
    const size_t n = r->n == 0 ? 1 : r->n < ROWS_MAX ? r->n : ROWS_MAX;
    double longest = 0;

    for (size_t i = 0; i < n; i++)
        longest = fmax(longest, of[i].t_step);
    if (!(longest > 0) || !(run->pace.mean > 0))
        return;
    const double scale = (WIDTH - LEFT) / longest;
    str_puts(out, "<figure id=\"plot-timeline\">\n");
    page_tag(out, "h3", NULL, r->n ? "A typical step, rank by rank" : "A typical step");
    write_keys(out);
    str_printf(out,
               "<svg viewBox=\"0 0 %d %zu\" role=\"img\" aria-label=\"Phases of a "
               "typical step\">\n",
               WIDTH, n * ROW + 16);
    for (size_t i = 0; i < n; i++) {
        const struct fmt host = fmt_text(of[i].host ? of[i].host : "", NAME_SHOWN);
        const struct fmt name = fmt_printf("%.0f %s", of[i].rank, host.s);
        write_lane(out, &of[i], r->n ? name.s : "a step", scale, i);
    }
    str_printf(out,
               "<text x=\"%d\" y=\"%zu\">0</text><text x=\"%d\" y=\"%zu\" "
               "text-anchor=\"end\">%s</text></svg>\n",
               LEFT, n * ROW + 13, WIDTH, n * ROW + 13, fmt_seconds(longest).s);
    if (r->n > n)
        page_tagf(out, "figcaption", NULL, "The first %zu of %zu ranks.", n, r->n);
    str_puts(out, "</figure>\n");
}
