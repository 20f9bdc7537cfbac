/* The curves of the page: over 1 to 1,000 nodes, over links, over intervals of saving. */
#include "page/plot.h"
#include "plan/plan.h"

/* Curves over one logarithmic x. */
enum { CURVES_MAX = 6 };
struct curves {
    struct series points[CURVES_MAX];
    struct plot_curve curve[CURVES_MAX];
    size_t n;
};

static status add_curve(struct curves *c, const char *name, enum plot_kind kind,
                        int color, const double *x, const double *y, size_t n,
                        struct err *err)
{
    struct series *s = &c->points[c->n];

    c->curve[c->n++] = (struct plot_curve){name, kind, color, PLOT_NO_BEST, s};
    for (size_t i = 0; i < n; i++)
        TRY(series_add(s, x[i], y[i], err));
    return OK;
}

/* Draws the curves unless making them failed; releases them. */
static status draw(struct str *out, struct curves *c, struct plot plot, status made,
                   struct err *err)
{
    plot.curve = c->curve;
    plot.n_curves = c->n;
    plot.is_log_x = true;
    THEN(made, plot_write(out, &plot, err));
    for (size_t i = 0; i < c->n; i++)
        series_release(&c->points[i]);
    return made;
}

struct chosen {
    enum sweep_way way;
    int color;
    enum plot_kind kind;
};

enum { CHOSEN = 4 };
static const struct chosen by_wire[CHOSEN] = {{SWEEP_REFERENCE, 2, PLOT_POINTS},
                                              {SWEEP_NODE, 4, PLOT_POINTS},
                                              {SWEEP_BF16, 1, PLOT_POINTS},
                                              {SWEEP_INT8, 3, PLOT_POINTS}};
static const struct chosen by_shape[CHOSEN] = {{SWEEP_FLAT, 5, PLOT_POINTS},
                                               {SWEEP_NODE, 4, PLOT_POINTS},
                                               {SWEEP_TREE, 3, PLOT_POINTS},
                                               {SWEEP_BF16, 1, PLOT_POINTS}};
static const struct chosen by_overlap[CHOSEN] = {{SWEEP_REFERENCE, 2, PLOT_POINTS},
                                                 {SWEEP_REFERENCE_SERIAL, 2, PLOT_DASHED},
                                                 {SWEEP_BF16, 1, PLOT_POINTS},
                                                 {SWEEP_BF16_SERIAL, 1, PLOT_DASHED}};

#define SECONDS "seconds per step"

static const struct {
    const struct chosen *list; /* [CHOSEN] */
    bool by_rate, is_efficiency;
    const char *id, *title, *y_unit, *note;
} way_plots[] = {
    {by_wire, false, false, "wires", "Step time by format on the wire", SECONDS, NULL},
    {by_wire, false, true, "efficiency", "Efficiency", "share of a device alone",
     "Speed per device, relative to one that exchanges nothing."},
    {by_shape, false, false, "topologies", "Step time by topology", SECONDS, NULL},
    {by_overlap, false, false, "overlap", "What overlap is worth", SECONDS, NULL},
    {by_wire, true, false, "rates", "Step time by link", SECONDS,
     "The cluster as given."}};

static status write_way_plot(struct str *out, const struct sweep *s, const double *x,
                             size_t k, struct err *err)
{
    const bool by_rate = way_plots[k].by_rate;
    const size_t n = by_rate ? SWEEP_N_RATES : SWEEP_N_NODES;
    const struct plot plot = {.id = way_plots[k].id,
                              .title = way_plots[k].title,
                              .y_unit = way_plots[k].y_unit,
                              .x_unit = by_rate ? "Mb/s of the link" : "nodes",
                              .note = way_plots[k].note,
                              .is_log = by_rate,
                              .from_zero = !by_rate};
    struct curves c = {.n = 0};
    double y[SWEEP_N_RATES];
    status made = OK;

    for (int j = 0; j < CHOSEN && made == OK; j++) {
        const struct chosen *w = &way_plots[k].list[j];
        for (size_t i = 0; i < n; i++) {
            const struct sweep_cell *at = by_rate ? s->by_rate[i] : s->by_nodes[i];
            y[i] =
                way_plots[k].is_efficiency ? at[w->way].efficiency : at[w->way].seconds;
        }
        made = add_curve(&c, sweep_way_name(w->way), w->kind, w->color, x, y, n, err);
    }
    return draw(out, &c, plot, made, err);
}

static status write_jitter_plot(struct str *out, const struct sweep *s,
                                const double *nodes, struct err *err)
{
    static const char *const name[SWEEP_N_JITTER] = {"none", "1 % spread", "2 %",
                                                     "5 %",  "10 %",       "20 %"};
    static const struct plot plot = {.id = "stragglers",
                                     .title = "Stragglers",
                                     .y_unit = SECONDS,
                                     .x_unit = "nodes",
                                     .note =
                                         "Standard deviation of each device's compute "
                                         "time; everybody waits for the last.",
                                     .from_zero = true};
    struct curves c = {.n = 0};
    status made = OK;

    for (int j = 0; j < SWEEP_N_JITTER && made == OK; j++)
        made = add_curve(&c, name[j], PLOT_POINTS, 1 + (j + 5) % 6, nodes,
                         s->by_jitter[j], SWEEP_N_NODES, err);
    return draw(out, &c, plot, made, err);
}

status plan_curves_nodes(struct str *out, const struct sweep *s, struct err *err)
{
    double nodes[SWEEP_N_NODES], rates[SWEEP_N_RATES];

    for (int i = 0; i < SWEEP_N_NODES; i++)
        nodes[i] = (double)s->nodes[i];
    for (int i = 0; i < SWEEP_N_RATES; i++)
        rates[i] = s->rates[i] / 1e6;
    for (size_t k = 0; k < sizeof way_plots / sizeof *way_plots; k++)
        TRY(write_way_plot(out, s, way_plots[k].by_rate ? rates : nodes, k, err));
    return write_jitter_plot(out, s, nodes, err);
}

status plan_curves_failures(struct str *out, const struct plan *p, struct err *err)
{
    enum { N = SWEEP_N_INTERVALS };
    const struct sweep *s = p->sweep;
    const struct failures f =
        forecast_failures(p->forecast, p->step.n_nodes, p->step.n_parameters);
    const double mark = failures_daly(&f) / 60;
    const struct plot plot = {.id = "interval",
                              .title = "How often to save",
                              .y_unit = "% of time lost",
                              .x_unit = "minutes between saves",
                              .mark = &mark,
                              .n_marks = 1,
                              .mark_name = "Daly's interval",
                              .from_zero = true};
    double x[N], formula[N], played[N];
    struct curves c = {.n = 0};

    for (int i = 0; i < N; i++) {
        x[i] = s->interval[i] / 60;
        formula[i] = 100 * s->by_formula[i];
        played[i] = 100 * s->by_play[i];
    }
    status made = add_curve(&c, "formula", PLOT_BAND, 1, x, formula, N, err);
    THEN(made, add_curve(&c, "simulated", PLOT_POINTS, 2, x, played, N, err));
    return draw(out, &c, plot, made, err);
}
