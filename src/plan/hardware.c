#include "plan/hardware.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/lines.h"

#define OF_DEVICE(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct hardware_device, field), field, __VA_ARGS__)
static const struct opt device_rows[] = {HARDWARE_DEVICE_OPTIONS(OF_DEVICE)};

#define OF_LINK(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct hardware_link, field), field, __VA_ARGS__)
static const struct opt link_rows[] = {HARDWARE_LINK_OPTIONS(OF_LINK)};

/* "a, b and c" of one kind, and the nearest to what was asked for. */
static status refuse(const char *kind, const char *name, struct err *err)
{
    struct str list = str_new(1024);
    const char *nearest = NULL;

    for (const struct hardware_text *t = hardware_texts; *t->name; t++) {
        if (strcmp(t->kind, kind) != 0)
            continue;
        str_printf(&list, "%s%s", list.len ? ", " : "", t->name);
        str_nearest(&nearest, t->name, name);
    }
    (void)err_set(err, ERR_USAGE,
                  "%s = %.64s: %s%s%snothing is described under this name; "
                  "there are %s, and files that end in .yaml",
                  kind, name, nearest ? "did you mean " : "", nearest ? nearest : "",
                  nearest ? "? " : "", str_text(&list));
    str_release(&list);
    return err->code;
}

static status read_text(struct opt_table table, void *out, const char *kind,
                        const char *name, struct err *err)
{
    TRY(opt_defaults(table, out, err));
    if (str_ends(name, ".yaml"))
        return opt_file(table, out, name, OPT_REFUSE_UNKNOWN, err);
    for (const struct hardware_text *t = hardware_texts; *t->name; t++)
        if (strcmp(t->kind, kind) == 0 && strcasecmp(t->name, name) == 0)
            return opt_yaml(table, out, t->text, strlen(t->text), t->name,
                            OPT_REFUSE_UNKNOWN, err);
    return refuse(kind, name, err);
}

static status check_device(const struct hardware_device *d, const char *name,
                           struct err *err)
{
    const char *missing = !(d->fp32_tflops > 0 || d->step_gflops > 0) ? "fp32_tflops"
                          : !(d->memory_gb_per_s > 0)                 ? "memory_gb_per_s"
                          : !(d->inside_gb_per_s > 0)                 ? "inside_gb_per_s"
                                                                      : NULL;

    if (missing)
        return err_set(err, ERR_USAGE, "device = %.200s: its description lacks %s", name,
                       missing);
    return OK;
}

status hardware_device(struct hardware_device *d, const char *name, struct err *err)
{
    const struct opt_table table = {device_rows,
                                    sizeof device_rows / sizeof *device_rows};

    TRY(read_text(table, d, "device", name, err));
    TRY(check_device(d, name, err));
    if (!*d->title)
        return opt_set(table, d, "title", name, err);
    return OK;
}

status hardware_link(struct hardware_link *l, const char *name, struct err *err)
{
    const struct opt_table table = {link_rows, sizeof link_rows / sizeof *link_rows};

    TRY(read_text(table, l, "link", name, err));
    if (!*l->title)
        return opt_set(table, l, "title", name, err);
    return OK;
}

/* What one line of the bench says about the device; 1 when it was a step. */
static int apply_line(struct hardware_device *d, const json_t *line)
{
    const char *bench = json_string_value(json_object_get(line, "bench"));
    const double gflops = json_number_value(json_object_get(line, "gflops"));
    const double memory = json_number_value(json_object_get(line, "gb_per_s"));

    if (bench && strcmp(bench, "memory") == 0 && memory > 0)
        d->memory_gb_per_s = memory;
    if (!bench || strcmp(bench, "step") != 0 || !(gflops > 0))
        return 0;
    d->step_gflops = gflops;
    return 1;
}

static status apply_lines(struct hardware_device *d, const char *path,
                          const struct file_map *m, struct err *err)
{
    struct lines lines = lines_over(m->data, m->n_bytes);
    struct line line;
    int n_steps = 0;

    while (lines_next(&lines, &line)) {
        json_t *o = json_loadb(line.text, line.n_bytes, 0, NULL);
        const bool is_good = line.n_bytes == 0 || json_is_object(o);
        n_steps += apply_line(d, o);
        json_decref(o);
        if (!is_good)
            return err_set(err, ERR_FORMAT,
                           "%s:%" PRIu64 ": not a line of `ferry bench --json`", path,
                           lines.n_read);
    }
    if (!n_steps)
        return err_set(
            err, ERR_FORMAT,
            "%s holds no measured step; write it with `ferry bench step --json`", path);
    return OK;
}

status hardware_bench(struct hardware_device *d, const char *path, struct err *err)
{
    struct file_map m;

    TRY(file_map_open(&m, path, err));
    const status result = apply_lines(d, path, &m, err);
    file_map_close(&m);
    return result;
}
