/* The lines that OpenSeq2Seq prints, from nohup.out or wherever they were kept. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/utf8.h"
#include "format/json_text.h"
#include "report/read/foreign.h"
#include "report/read/foreign_attempt.h"
#include "text/line_reader.h"

enum { LINE_SHOWN = 4000, PAIR_MAX = 200, SNIFFED = 20000 };

struct console {
    struct foreign_attempt at; /* the attempt at hand */
    struct runlog now, kept;   /* its log; that of the last one before it that trained */
    bool has_kept;
    struct runlog_foreign list; /* of attempts */
    size_t kept_at;
    size_t line;    /* on which it begins */
    bool has_begun; /* it got beyond its first lines */
    struct foreign_trouble trouble;
    bool in_config;
    int n_braces; /* of the configuration, open */
    size_t n_lines, n_known;
    double tokens_per_s, t_step;
    struct err *err;
};

/* A number after `mark`; false when the line does not have one. */
static bool number_after(const char *line, const char *mark, double *out)
{
    const char *at = foreign_parts_after(line, mark);
    char *end;

    if (!at)
        return false;
    const double v = strtod(at, &end);
    if (end == at)
        return false;
    *out = v;
    return true;
}

/* "0:00:1.941" is hours, minutes and seconds. */
static double clock_text(const char *s)
{
    char *end;
    const double hours = strtod(s, &end);
    if (*end != ':')
        return NAN;
    const double minutes = strtod(end + 1, &end);
    if (*end != ':')
        return NAN;
    return 3600 * hours + 60 * minutes + strtod(end + 1, NULL);
}

/* "Global step 100: ***     Train loss: 7.7754"; "loss = ", "loss: " in other versions,
 * some with the time in the same line. */
static bool read_loss(struct console *c, const char *line)
{
    const char *at = foreign_parts_after(line, "lobal step ");
    double step, loss;

    if (!at || !number_after(line, "lobal step ", &step) || !isfinite(step) || step < 0 ||
        !(number_after(at, "loss: ", &loss) || number_after(at, "loss = ", &loss)))
        return false;
    c->has_begun = true;
    foreign_attempt_loss(&c->at, step, loss);
    return true;
}

static bool read_time(struct console *c, const char *line)
{
    const char *at = foreign_parts_after(line, "time per step = ");

    if (at)
        foreign_attempt_time(&c->at, clock_text(at));
    return at != NULL;
}

static bool read_eval(struct console *c, const char *line)
{
    double v;

    if (number_after(line, "Validation loss: ", &v)) {
        c->has_begun = true;
        foreign_attempt_eval(&c->at, v);
    } else if (number_after(line, "Eval BLUE score: ", &v)) {
        foreign_attempt_bleu(&c->at, v);
    } else {
        return false;
    }
    return true;
}

/* One sentence a print is kept, of the thousands that are printed. All of them are
 * predicted from the correct words before: of training, or of the validation set. */
static bool read_sample(struct console *c, const char *line)
{
    static const char *const part[][2] = {{"Source[0]:", "source"},
                                          {"Target[0]:", "reference"},
                                          {"Prediction[0]:", "translation"}};

    for (size_t i = 0; i < 3; i++) {
        const char *text = foreign_parts_after(line, part[i][0]);
        if (text && text - line < 48) {
            const bool is_valid = strstr(line, "EVAL ") != NULL;
            foreign_attempt_sample(&c->at,
                                   is_valid ? "forced-validation" : "forced-training",
                                   part[i][1], text + strspn(text, " "));
            return true;
        }
    }
    return false;
}

/* ---- attempts ---- */

/* The attempt at hand is whole. It is kept when it trained, or when none before it did.
 */
static status end_attempt(struct console *c)
{
    TRY(foreign_attempt_end(&c->at));
    TRY(foreign_parts_list(&c->list, &c->now, c->line, c->err));
    c->now.foreign.tokens_per_s = c->tokens_per_s;
    c->now.foreign.t_step = c->t_step;
    if (c->has_kept && !c->now.n_step && !c->now.n_eval) {
        runlog_close(&c->now);
        return OK;
    }
    if (c->has_kept)
        runlog_close(&c->kept);
    c->kept = c->now;
    c->now = (struct runlog){0};
    c->has_kept = true;
    c->kept_at = c->list.n_attempts - 1;
    return OK;
}

static void begin_attempt(struct console *c)
{
    foreign_attempt_begin(&c->at, &c->now, c->err);
    c->tokens_per_s = c->t_step = NAN;
    c->trouble = (struct foreign_trouble){0};
    c->has_begun = c->in_config = false;
    c->line = c->n_lines;
}

/* "Starting training" of several ranks is one start; after anything that only a started
 * attempt prints, it is the next attempt. */
static void start_from_scratch(struct console *c)
{
    if (c->has_begun || (json_object_size(c->at.config) && runlog_fatal(&c->now))) {
        c->at.failed = end_attempt(c);
        if (c->at.failed != OK)
            return;
        begin_attempt(c);
    }
    foreign_attempt_session(&c->at, 0, false);
}

static bool read_session(struct console *c, const char *line)
{
    double v;

    if (strstr(line, "Starting training from")) {
        start_from_scratch(c);
    } else if (strstr(line, "Restored checkpoint from ")) {
        const char *stem = strstr(line, "model.ckpt-");
        foreign_attempt_session(&c->at, stem ? strtod(stem + 11, NULL) : NAN, true);
    } else if (number_after(line, "Building graph in Horovod rank: ", &v)) {
        c->has_begun = true;
        c->at.place.ranks = fmax(c->at.place.ranks, v + 1);
    } else if (number_after(line, "Total trainable parameters: ", &v)) {
        c->has_begun = true;
        c->at.parameters = v;
    } else if (number_after(line, "Avg time per step: ", &v)) {
        c->t_step = v;
    } else if (number_after(line, "Avg objects per second: ", &v)) {
        c->tokens_per_s = v;
    } else if (strstr(line, "*** Finished training")) {
        foreign_attempt_time(&c->at, NAN);
        c->at.is_finished = true;
    } else {
        return strncmp(line, "*** Using horovod", 17) == 0;
    }
    return true;
}

/* ---- the printed configuration ---- */

/* One  'key': value  of the printed dict; the first of a name counts. */
static const char *read_pair(json_t *config, const char *at)
{
    char key[PAIR_MAX], value[PAIR_MAX];
    const char *end = strchr(at + 1, '\'');

    if (!end || end[1] != ':' || (size_t)(end - at) > sizeof key)
        return end ? end + 1 : at + strlen(at);
    snprintf(key, sizeof key, "%.*s", (int)(end - at - 1), at + 1);
    at = end + 2 + strspn(end + 2, " ");
    if (*at == '{')
        return at + 1;
    if (strncmp(at, "<function ", 10) == 0)
        at += 10;
    const bool is_quoted = *at == '\'';
    at += is_quoted;
    const size_t n = strcspn(at, is_quoted ? "'" : ",} ");
    snprintf(value, sizeof value, "%.*s", (int)(n < sizeof value ? n : sizeof value - 1),
             at);
    if (utf8_valid(key, strlen(key)) && !json_object_get(config, key))
        json_object_set_new(config, key, json_text(value));
    return at + n + (is_quoted && at[n] == '\'');
}

/* The dict that follows "Training config:", until its braces are closed. Lines of others
 * may stand between its own. */
static bool read_config(struct console *c, const char *line)
{
    const bool is_head = strstr(line, "Training config:") != NULL;

    if (is_head) {
        c->in_config = true;
        c->n_braces = 0;
        foreign_attempt_configure(&c->at);
    } else if (strncmp(line, "***", 3) == 0) {
        c->in_config = false;
    }
    if (!c->in_config)
        return false;
    const char *quote = strchr(line, '\'');
    for (const char *at = quote; at && *at; at = strchr(at, '\''))
        at = read_pair(c->at.config, at);
    for (const char *at = line; quote && *at; at++)
        c->n_braces += (*at == '{') - (*at == '}');
    c->in_config = is_head || !quote || c->n_braces > 0;
    return is_head || quote;
}

/* ---- lines ---- */

/* mpirun --tag-output and --timestamp-output put "[1,0]<stdout>:" before a line. */
static const char *without_tag(const char *line)
{
    const char *end = strchr(line, '<');

    if (!end || (strncmp(end, "<stdout>:", 9) != 0 && strncmp(end, "<stderr>:", 9) != 0))
        return line;
    for (const char *at = line; at < end; at++)
        if (!isdigit((unsigned char)*at) && !strchr("[],", *at))
            return line;
    return end + 9;
}

static void read_line(struct console *c, const char *line)
{
    const char *rest =
        foreign_clock_line(&c->at.clock, line, c->at.t, isfinite(c->at.session.printed));

    line = rest == line || *rest == '[' || *rest == '<' ? without_tag(rest) : line;
    if (read_sample(c, line)) {
        c->n_known++;
        return;
    }
    const bool has_loss = read_loss(c, line), has_time = read_time(c, line);
    if (has_loss || has_time || read_config(c, line) || read_eval(c, line) ||
        read_session(c, line)) {
        c->n_known++;
        return;
    }
    foreign_place_line(&c->at.place, line);
    foreign_trouble_line(&c->trouble, &c->now.foreign, line, c->n_lines,
                         c->at.session.printed);
}

static void add_line(struct console *c, struct str *text, struct line line)
{
    c->n_lines++;
    str_reset(text);
    str_add(text, line.text, line.n_bytes < LINE_SHOWN ? line.n_bytes : LINE_SHOWN);
    read_line(c, str_text(text));
}

/* Lines of OpenSeq2Seq, or of an mpirun that failed to start it. */
static bool is_console(const struct console *c)
{
    return c->n_known || c->kept.foreign.problem[RUNLOG_PROBLEM_START].n ||
           c->kept.foreign.problem[RUNLOG_PROBLEM_MPI].n;
}

/* What was read becomes the log of the attempt that is reported. */
static status finish(struct console *c, struct runlog *log, const char *name,
                     status result)
{
    THEN(result, end_attempt(c));
    if (result == OK && !is_console(c))
        result = err_set(c->err, ERR_FORMAT,
                         "%s: neither a run.jsonl nor a log of OpenSeq2Seq: no line of "
                         "it is known",
                         name);
    if (result != OK) {
        json_decref(c->at.config);
        json_decref(c->at.sample);
        runlog_close(&c->now);
        runlog_close(&c->kept);
        free(c->list.attempt);
        return result;
    }
    *log = c->kept;
    log->n_lines = c->n_lines;
    log->foreign.origin = "OpenSeq2Seq, from its console log";
    foreign_parts_give(&c->list, log, c->kept_at);
    return OK;
}

status foreign_console_bytes(struct runlog *log, const char *name, const void *data,
                             size_t n, struct err *err)
{
    struct lines lines = lines_over(data, n);
    struct console c = {.err = err};
    struct str text = str_new(0);

    *log = (struct runlog){0};
    begin_attempt(&c);
    for (struct line line; c.at.failed == OK && lines_next(&lines, &line);)
        add_line(&c, &text, line);
    str_release(&text);
    return finish(&c, log, name, c.at.failed);
}

status foreign_console(struct runlog *log, const char *path, struct err *err)
{
    struct console c = {.err = err};
    struct str text = str_new(0);
    struct line_reader file;
    struct line line;
    bool has = true;

    *log = (struct runlog){0};
    TRY(line_reader_open(&file, path, path, err));
    begin_attempt(&c);
    status result = OK;
    while (result == OK && c.at.failed == OK && has) {
        result = line_reader_next(&file, &line, &has, err);
        if (result == OK && has)
            add_line(&c, &text, line);
    }
    line_reader_close(&file);
    str_release(&text);
    return finish(&c, log, path, result == OK ? c.at.failed : result);
}

/* A line that OpenSeq2Seq alone prints. */
static bool is_known(const char *line)
{
    static const char *const marks[] = {"*** Using horovod", "*** Training config:",
                                        "time per step = ",  "*** Starting training",
                                        "lobal step ",       "*** Building graph",
                                        "Validation loss: "};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(line, marks[i]))
            return true;
    return false;
}

bool foreign_is_console(const char *path)
{
    struct line_reader file;
    struct line line;
    struct err ignored;
    char text[256];
    bool has = true, is_console = false;

    if (line_reader_open(&file, path, path, &ignored) != OK)
        return false;
    for (size_t i = 0; i < SNIFFED && has && !is_console; i++) {
        if (line_reader_next(&file, &line, &has, &ignored) != OK || !has)
            break;
        snprintf(text, sizeof text, "%.*s",
                 (int)(line.n_bytes < 255 ? line.n_bytes : 255), line.text);
        is_console = is_known(text);
    }
    line_reader_close(&file);
    return is_console;
}
