#include "train/log/rank_stats.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* Network cards are counted once a host, by its first rank. */
static json_t *cards_of(const struct meter_lap *lap)
{
    json_t *cards = json_object();

    for (size_t i = 0; i < lap->cards.n; i++) {
        const struct meter_card *c = &lap->cards.card[i];
        const struct runlog_card card = {(double)c->sent_bytes, (double)c->received_bytes,
                                         (double)c->n_errors, NAN};
        json_object_set_new(cards, c->name, journal_object(RUNLOG_KIND_CARD, &card));
    }
    return cards;
}

static json_t *own_line(struct rank_stats *stats, const struct comm *comm)
{
    const struct record_step *s = &stats->since;
    const struct comm_traffic now = comm_traffic(comm), *before = &stats->traffic;
    const struct meter_lap lap = meter_next(&stats->meter);
    const struct device_usage *gpu = &lap.gpu; /* NAN: it did not say */
    const struct runlog_rank r = {
        .rank = comm->rank,
        .host = comm->peer[comm->rank].host,
        .t_step = s->t_step,
        .t_data = s->t_data,
        .t_compute = s->t_compute,
        .t_comm = s->t_comm,
        .t_hidden = s->t_hidden,
        .t_update = s->t_update,
        .cores = lap.cores,
        .memory_mib = lap.memory_mib,
        .gpu_busy = gpu->busy,
        .gpu_power_w = gpu->power_w,
        .gpu_power_limit_w = gpu->power_limit_w,
        .gpu_memory_mib = gpu->memory_mib,
        .gpu_memory_all_mib = gpu->memory_all_mib,
        .gpu_clock_mhz = gpu->clock_mhz,
        .gpu_clock_max_mhz = gpu->clock_max_mhz,
        .sent_bytes = (double)(now.sent_bytes - before->sent_bytes),
        .received_bytes = (double)(now.received_bytes - before->received_bytes),
        .cards = comm->local_rank == 0 ? cards_of(&lap) : NULL,
    };

    stats->traffic = now;
    return journal_object(RUNLOG_KIND_RANK, &r);
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

status rank_stats_gather(struct rank_stats *s, struct comm *comm, struct record *record,
                         int64_t step, struct err *err)
{
    struct str text = str_new(0);
    json_t *mine = own_line(s, comm), *all = NULL;
    char *line = json_dumps(mine, JSON_COMPACT | JSON_PRESERVE_ORDER);

    json_decref(mine);
    if (!line)
        return err_set(err, ERR_MEMORY, "no memory for what this rank measured");
    const size_t n = strlen(line);
    line[n] = '\n'; /* replaces the terminator: the gather sends lengths */
    status result = comm_gather(comm, &text, line, n + 1, err);
    if (result == OK && comm->rank == 0)
        result = join_lines(&all, &text, err);
    if (result == OK && all)
        result = record_ranks(record, step, all, err);
    json_decref(all);
    free(line);
    str_release(&text);
    s->since = (struct record_step){0};
    s->is_due = false;
    return result;
}
