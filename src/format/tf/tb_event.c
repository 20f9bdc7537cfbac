#include "format/tf/tb_event.h"

#include <string.h>

#include "base/lines.h"
#include "base/os.h"
#include "event.pb-c.h"
#include "format/tf/proto.h"
#include "hparams.pb-c.h"

enum { NAME_TRIES = 100 };

static status add_event(struct tb_event_writer *w, const Event *event, struct err *err)
{
    str_reset(&w->message);
    proto_pack(&w->message, &event->base);
    TRY(str_check(&w->message, "an event", err));
    return tfrecord_add(&w->records, w->message.data, w->message.len, err);
}

/* Two runs of one directory may start within a second: the later takes the next. */
static status create_file(struct tb_event_writer *w, const char *dir, double wall_time,
                          struct err *err)
{
    char host[256], path[FILE_PATH_MAX];

    os_host_name(host, sizeof host);
    for (int i = 0; i < NAME_TRIES; i++) {
        TRY(file_path(path, err, "%s/events.out.tfevents.%010lld.%s", dir,
                      (long long)wall_time + i, host));
        if (!file_exists(path))
            break;
    }
    return tfrecord_create(&w->records, path, err);
}

status tb_event_open(struct tb_event_writer *w, const char *dir, double wall_time,
                     struct err *err)
{
    char version[] = "brain.Event:2";
    Event event = EVENT__INIT;
    struct err ignored;

    *w = (struct tb_event_writer){0};
    TRY(create_file(w, dir, wall_time, err));
    event.wall_time = wall_time;
    event.what_case = EVENT__WHAT_FILE_VERSION;
    event.file_version = version;
    if (add_event(w, &event, err) == OK && tb_event_flush(w, err) == OK)
        return OK;
    (void)!tb_event_close(w, &ignored);
    return err->code;
}

status tb_event_start(struct tb_event_writer *w, int64_t step, double wall_time,
                      struct err *err)
{
    SessionLog log = SESSION_LOG__INIT;
    Event event = EVENT__INIT;

    log.status = SESSION_LOG__SESSION_STATUS__START;
    event.wall_time = wall_time;
    event.step = step;
    event.what_case = EVENT__WHAT_SESSION_LOG;
    event.session_log = &log;
    return add_event(w, &event, err);
}

status tb_event_scalars(struct tb_event_writer *w, int64_t step, double wall_time,
                        const struct tb_event_value *values, size_t n, struct err *err)
{
    enum { AT_MOST = 64 };
    Summary__Value value[AT_MOST], *value_at[AT_MOST];
    Summary summary = SUMMARY__INIT;
    Event event = EVENT__INIT;

    if (n > AT_MOST)
        return err_set(err, ERR_USAGE, "%zu values do not fit in one event of %d", n,
                       (int)AT_MOST);
    for (size_t i = 0; i < n; i++) {
        summary__value__init(&value[i]);
        value[i].tag = (char *)values[i].tag; /* only read */
        value[i].value_case = SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
        value[i].simple_value = values[i].value;
        value_at[i] = &value[i];
    }
    summary.n_value = n;
    summary.value = value_at;
    event.wall_time = wall_time;
    event.step = step;
    event.what_case = EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return add_event(w, &event, err);
}

/* ---- what is no scalar ---- */

enum { DT_FLOAT = 1, DT_STRING = 7, DATA_CLASS_TENSOR = 2 };

static status add_value(struct tb_event_writer *w, int64_t step, double wall_time,
                        Summary__Value *value, const char *tag, struct err *err)
{
    Summary summary = SUMMARY__INIT;
    Event event = EVENT__INIT;

    value->tag = (char *)tag; /* only read */
    summary.n_value = 1;
    summary.value = &value;
    event.wall_time = wall_time;
    event.step = step;
    event.what_case = EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return add_event(w, &event, err);
}

/* A tensor that the plugin `name` shows, told what it is by `content`. */
static status add_tensor(struct tb_event_writer *w, int64_t step, double wall_time,
                         const char *tag, TensorProto *tensor, const char *name,
                         struct line content, struct err *err)
{
    SummaryMetadata__PluginData data = SUMMARY_METADATA__PLUGIN_DATA__INIT;
    SummaryMetadata metadata = SUMMARY_METADATA__INIT;
    Summary__Value value = SUMMARY__VALUE__INIT;

    data.plugin_name = (char *)name;
    data.content = (ProtobufCBinaryData){content.n_bytes, (unsigned char *)content.text};
    metadata.plugin_data = &data;
    metadata.data_class = tensor->dtype == DT_STRING ? DATA_CLASS_TENSOR : 0;
    value.metadata = &metadata;
    value.value_case = SUMMARY__VALUE__VALUE_TENSOR;
    value.tensor = tensor;
    return add_value(w, step, wall_time, &value, tag, err);
}

status tb_event_text(struct tb_event_writer *w, int64_t step, double wall_time,
                     const char *tag, const char *text, struct err *err)
{
    ProtobufCBinaryData bytes = {strlen(text), (unsigned char *)text};
    TensorProto tensor = TENSOR_PROTO__INIT;
    struct proto_shape shape;

    proto_shape_init(&shape, NULL, 0);
    tensor.dtype = DT_STRING;
    tensor.tensor_shape = &shape.message;
    tensor.n_string_val = 1;
    tensor.string_val = &bytes;
    return add_tensor(w, step, wall_time, tag, &tensor, "text", (struct line){0}, err);
}

status tb_event_histogram(struct tb_event_writer *w, int64_t step, double wall_time,
                          const char *tag, const struct tb_event_histogram *h,
                          struct err *err)
{
    HistogramProto histogram = HISTOGRAM_PROTO__INIT;
    Summary__Value value = SUMMARY__VALUE__INIT;

    histogram.min = h->least;
    histogram.max = h->most;
    histogram.num = h->n;
    histogram.sum = h->sum;
    histogram.sum_squares = h->sum_squares;
    histogram.n_bucket_limit = histogram.n_bucket = h->n_buckets;
    histogram.bucket_limit = (double *)h->limit;
    histogram.bucket = (double *)h->count;
    value.value_case = SUMMARY__VALUE__VALUE_HISTO;
    value.histo = &histogram;
    return add_value(w, step, wall_time, &value, tag, err);
}

/* All that this plugin reads is in the metadata; the tensor has no elements. */
static status add_hparams(struct tb_event_writer *w, int64_t step, double wall_time,
                          const char *tag, const HParamsPluginData *data, struct err *err)
{
    RELEASED_BY(str_release) struct str content = str_new(0);
    TensorProto tensor = TENSOR_PROTO__INIT;
    struct proto_shape shape;
    const uint64_t none = 0;

    proto_shape_init(&shape, &none, 1);
    tensor.dtype = DT_FLOAT;
    tensor.tensor_shape = &shape.message;
    proto_pack(&content, &data->base);
    TRY(str_check(&content, "the options", err));
    return add_tensor(w, step, wall_time, tag, &tensor, "hparams",
                      (struct line){content.data, content.len}, err);
}

static void set_option(HParam *p, HParamValue *value, const struct tb_event_option *o)
{
    hparam__init(p);
    hparam_value__init(value);
    p->key = (char *)o->name;
    p->value = value;
    if (o->text) {
        value->kind_case = HPARAM_VALUE__KIND_STRING_VALUE;
        value->string_value = (char *)o->text;
    } else if (o->is_bool) {
        value->kind_case = HPARAM_VALUE__KIND_BOOL_VALUE;
        value->bool_value = o->number != 0;
    } else {
        value->kind_case = HPARAM_VALUE__KIND_NUMBER_VALUE;
        value->number_value = o->number;
    }
}

status tb_event_options(struct tb_event_writer *w, int64_t step, double wall_time,
                        const struct tb_event_option *options, size_t n, struct err *err)
{
    enum { AT_MOST = 256 };
    HParam list[AT_MOST], *at[AT_MOST];
    HParamValue value[AT_MOST];
    SessionStartInfo info = SESSION_START_INFO__INIT;
    HParamsPluginData data = HPARAMS_PLUGIN_DATA__INIT;

    if (n > AT_MOST)
        return err_set(err, ERR_USAGE, "%zu options do not fit in one event of %d", n,
                       (int)AT_MOST);
    for (size_t i = 0; i < n; i++) {
        set_option(&list[i], &value[i], &options[i]);
        at[i] = &list[i];
    }
    info.n_hparams = n;
    info.hparams = at;
    info.start_time_secs = wall_time;
    data.data_case = HPARAMS_PLUGIN_DATA__DATA_SESSION_START_INFO;
    data.session_start_info = &info;
    return add_hparams(w, step, wall_time, "_hparams_/session_start_info", &data, err);
}

status tb_event_finished(struct tb_event_writer *w, int64_t step, double wall_time,
                         struct err *err)
{
    SessionEndInfo info = SESSION_END_INFO__INIT;
    HParamsPluginData data = HPARAMS_PLUGIN_DATA__INIT;

    info.status = SESSION_END_INFO__STATUS__STATUS_SUCCESS;
    info.end_time_secs = wall_time;
    data.data_case = HPARAMS_PLUGIN_DATA__DATA_SESSION_END_INFO;
    data.session_end_info = &info;
    return add_hparams(w, step, wall_time, "_hparams_/session_end_info", &data, err);
}

status tb_event_flush(struct tb_event_writer *w, struct err *err)
{
    return tfrecord_flush(&w->records, err);
}

status tb_event_close(struct tb_event_writer *w, struct err *err)
{
    str_release(&w->message);
    return tfrecord_close(&w->records, err);
}

status tb_event_read(struct tb_event_reader *r, const char *path, struct err *err)
{
    struct file_map map;

    *r = (struct tb_event_reader){0};
    TRY(file_map_open(&map, path, err));
    tb_event_read_bytes(r, map.data, map.n_bytes);
    r->map = map;
    return OK;
}

void tb_event_read_bytes(struct tb_event_reader *r, const void *bytes, size_t n)
{
    *r = (struct tb_event_reader){.records = {.data = bytes, .n_bytes = n}};
}

static void drop_event(struct tb_event_reader *r)
{
    event__free_unpacked(r->event, NULL);
    r->event = NULL;
    r->next = 0;
}

/* The next event into r->event; *more is false at the end. */
static status next_event(struct tb_event_reader *r, bool *more, struct err *err)
{
    const unsigned char *payload = NULL;
    const size_t at = r->records.at;
    enum tfrecord_state state;
    size_t n = 0;

    drop_event(r);
    TRY(tfrecord_next(&r->records, &state, &payload, &n, err));
    *more = state == TFRECORD_READ;
    r->is_cut = state == TFRECORD_CUT;
    if (!*more)
        return OK;
    r->event = event__unpack(NULL, n, payload);
    if (!r->event)
        return err_set(err, ERR_FORMAT, "the record at byte %zu is not an event", at);
    r->n_events++;
    return OK;
}

status tb_event_next(struct tb_event_reader *r, struct tb_event_point *point, bool *more,
                     struct err *err)
{
    *more = true;
    while (*more) {
        const Event *e = r->event;
        const bool has_values = e && e->what_case == EVENT__WHAT_SUMMARY && e->summary;
        while (has_values && r->next < e->summary->n_value) {
            const Summary__Value *v = e->summary->value[r->next++];
            if (v->value_case != SUMMARY__VALUE__VALUE_SIMPLE_VALUE)
                continue;
            *point = (struct tb_event_point){.step = e->step,
                                             .wall_time = e->wall_time,
                                             .tag = v->tag,
                                             .value = v->simple_value};
            return OK;
        }
        TRY(next_event(r, more, err));
    }
    return OK;
}

void tb_event_read_close(struct tb_event_reader *r)
{
    drop_event(r);
    file_map_close(&r->map);
    *r = (struct tb_event_reader){0};
}
