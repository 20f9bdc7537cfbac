/*
 * What every rank measured of itself, gathered at the cadence of the log: where its time
 * went, which processors and memory it used, what went through its host's cards. The
 * rank that kept the others waiting is the one that waited least itself.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "train/trainer.h"

static void set_real(json_t *o, const char *key, double x)
{
    json_object_set_new(o, key, json_real(x));
}

static void set_int(json_t *o, const char *key, uint64_t x)
{
    json_object_set_new(o, key, json_integer((json_int_t)x));
}

/* What the rank's GPU said of itself; what it did not say is left out. */
static void add_gpu(json_t *o, const struct device_usage *u)
{
    const struct {
        const char *key;
        double value;
    } facts[] = {{"gpu_busy", u->busy},
                 {"gpu_power_w", u->power_w},
                 {"gpu_power_limit_w", u->power_limit_w},
                 {"gpu_memory_mib", u->memory_mib},
                 {"gpu_memory_all_mib", u->memory_all_mib},
                 {"gpu_clock_mhz", u->clock_mhz},
                 {"gpu_clock_max_mhz", u->clock_max_mhz}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (isfinite(facts[i].value))
            set_real(o, facts[i].key, facts[i].value);
}

/* Cards belong to the host: its first rank speaks for them. */
static void add_cards(json_t *o, const struct meter_lap *lap)
{
    json_t *cards = json_object();

    for (size_t i = 0; i < lap->cards.n; i++) {
        const struct meter_card *c = &lap->cards.card[i];
        json_object_set_new(cards, c->name,
                            json_pack("{s:I,s:I,s:I}", "sent", (json_int_t)c->sent_bytes,
                                      "received", (json_int_t)c->received_bytes, "errors",
                                      (json_int_t)c->n_errors));
    }
    json_object_set_new(o, "cards", cards);
}

static json_t *own_line(struct trainer *t)
{
    const struct record_step *s = &t->since_stats;
    const struct comm_traffic now = comm_traffic(t->comm);
    const struct meter_lap lap = meter_next(&t->meter);
    json_t *o = json_object();

    set_int(o, "rank", (uint64_t)t->comm->rank);
    json_object_set_new(o, "host", json_string(t->comm->peer[t->comm->rank].host));
    set_real(o, "t_step", s->t_step);
    set_real(o, "t_data", s->t_data);
    set_real(o, "t_compute", s->t_forward + s->t_backward);
    set_real(o, "t_comm", s->t_comm);
    set_real(o, "t_hidden", s->t_hidden);
    set_real(o, "t_update", s->t_update);
    set_real(o, "cores", lap.cores);
    set_real(o, "memory_mib", lap.memory_mib);
    add_gpu(o, &lap.gpu);
    set_int(o, "sent_bytes", now.sent_bytes - t->traffic.sent_bytes);
    set_int(o, "received_bytes", now.received_bytes - t->traffic.received_bytes);
    if (t->comm->local_rank == 0)
        add_cards(o, &lap);
    t->traffic = now;
    return o;
}

/* Every rank's line in one array, on the first rank. */
static status join_lines(json_t **all, const struct str *text, struct err *err)
{
    const char *at = str_text(text);

    *all = json_array();
    for (const char *stop; (stop = strchr(at, '\n')); at = stop + 1) {
        json_t *one = json_loadb(at, (size_t)(stop - at), 0, NULL);
        if (!one || json_array_append_new(*all, one) != 0)
            return err_set(err, ERR_COMM, "what a rank measured arrived damaged");
    }
    return OK;
}

status train_rank_stats(struct trainer *t, struct err *err)
{
    struct str text = str_new(0);
    json_t *mine = own_line(t), *all = NULL;
    char *line = json_dumps(mine, JSON_COMPACT | JSON_PRESERVE_ORDER);

    json_decref(mine);
    if (!line)
        return err_set(err, ERR_MEMORY, "no memory for what this rank measured");
    const size_t n = strlen(line);
    line[n] = '\n'; /* in place of its end: lengths travel apart */
    status result = comm_gather(t->comm, t->comm->rank == 0 ? &text : NULL, NULL, line,
                                n + 1, 0, err);
    if (result == OK && t->comm->rank == 0)
        result = join_lines(&all, &text, err);
    if (result == OK && all)
        result = record_ranks(&t->record, t->state.step, all, err);
    json_decref(all);
    free(line);
    str_release(&text);
    t->since_stats = (struct record_step){0};
    t->wants_stats = false;
    return result;
}
