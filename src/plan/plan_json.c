/* The forecast for programs: one object, seconds and bytes in plain units. */
#include "plan/plan.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* JSON has no infinity: a run that never ends has no number. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *ways_json(const struct sweep_cell way[SWEEP_N_WAYS])
{
    json_t *list = json_array();

    for (int i = 0; i < SWEEP_N_WAYS; i++)
        json_array_append_new(
            list,
            json_pack("{ss, so, so, so, so, so}", "way",
                      sweep_way_name((enum sweep_way)i), "seconds_per_step",
                      number(way[i].seconds), "tokens_per_s", number(way[i].tokens_per_s),
                      "bytes_per_card_per_step", number(way[i].card_bytes), "card_load",
                      number(way[i].card_load), "efficiency", number(way[i].efficiency)));
    return list;
}

static json_t *nodes_json(const struct sweep *s, int n)
{
    return json_pack("{sI, so, s{so, so, so, so, so, so, so}}", "nodes",
                     (json_int_t)s->nodes[n], "ways", ways_json(s->by_nodes[n]),
                     "failures", "seconds_between", number(s->failures[n].mtbf),
                     "save_seconds", number(s->failures[n].save), "young_seconds",
                     number(s->young[n]), "daly_seconds", number(s->daly[n]),
                     "simulated_seconds", number(s->played[n]), "time_lost",
                     number(s->overhead[n]), "work_lost", number(s->lost[n]));
}

static json_t *buckets_json(const struct simulate_result *r)
{
    json_t *list = json_array();
    const size_t n =
        r->n_buckets < SIMULATE_BUCKETS_MAX ? r->n_buckets : SIMULATE_BUCKETS_MAX;

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{so, so, so, so}", "elements",
                                              number(r->bucket[i].elements), "ready",
                                              number(r->bucket[i].t_ready), "begin",
                                              number(r->bucket[i].t_begin), "end",
                                              number(r->bucket[i].t_end)));
    return list;
}

static void add_bill(json_t *o, const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const struct forecast_bill b = forecast_bill(f, &p->step);

    json_object_set_new(o, "tokens", number(f->tokens));
    json_object_set_new(o, "steps", number(f->steps));
    json_object_set_new(o, "hours", number(b.hours));
    if (f->device.busy_watts > 0)
        json_object_set_new(o, "kwh", number(b.kwh));
    if (f->options.price > 0 || f->options.price_kwh > 0)
        json_object_set_new(o, "cost", number(b.total));
}

static json_t *sentence(void (*write)(struct str *, const struct plan *),
                        const struct plan *p)
{
    struct str s = str_new(4096);

    write(&s, p);
    json_t *text = json_string(str_text(&s));
    str_release(&s);
    return text;
}

static json_t *whole_json(const struct plan *p)
{
    const struct forecast *f = p->forecast;
    const struct simulate_result *r = &p->step.sim;

    return json_pack(
        "{so, so, so, so, ss, ss, sI, sI, so, so, so, ss, so, so, so, so, so, so, so, "
        "so, so, so, so, "
        "so, so}",
        "verdict", sentence(plan_text_headline, p), "basis", sentence(plan_text_basis, p),
        "times_as_fast_as_one_machine", number(plan_speedup(p)),
        "one_machine_seconds_per_step", number(p->alone.sim.seconds), "config", p->config,
        "method", f->options.method, "nodes", (json_int_t)p->step.n_nodes, "ranks",
        (json_int_t)p->step.n_ranks, "seconds_per_step", number(r->seconds),
        "bytes_per_card_per_step", number(r->card_bytes), "tokens_per_s",
        number(p->step.tokens / r->seconds), "limit",
        forecast_limit_words[p->limits.limit], "tokens_per_step", number(p->step.tokens),
        "useful_tokens", number(p->step.useful), "compute_seconds", number(r->t_compute),
        "exposed_seconds", number(r->t_exposed), "update_seconds", number(r->t_update),
        "exchange_seconds", number(r->t_exchange), "alone_seconds",
        number(p->step.t_alone), "card_load", number(p->step.card_load),
        "link_bytes_per_s", f->n_given > 1 ? number(f->variant.rate) : json_null(),
        "seconds_per_step_network_doubled", number(p->limits.seconds[FORECAST_NETWORK]),
        "operations_per_device", number(p->step.operations), "buckets", buckets_json(r),
        "ways", ways_json(p->way));
}

status plan_json(struct str *out, const struct plan *p, struct err *err)
{
    json_t *o = whole_json(p), *by_nodes = json_array();

    for (int n = 0; p->sweep && n < SWEEP_N_NODES; n++)
        json_array_append_new(by_nodes, nodes_json(p->sweep, n));
    if (o)
        add_bill(o, p);
    if (p->sweep)
        json_object_set(o, "by_nodes", by_nodes);
    char *text =
        json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    json_decref(o);
    json_decref(by_nodes);
    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for the plan as JSON");
    str_puts(out, text);
    str_putc(out, '\n');
    free(text);
    return str_check(out, "the plan", err);
}
