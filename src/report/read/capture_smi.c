/* What nvidia-smi prints: --query-gpu as CSV, and the table that it shows by itself. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/read/capture_reader.h"

/* ---- CSV ---- */

/* What a column is, besides the fields of a sample. */
enum {
    COLUMN_TIME = CAPTURE_FIELDS,
    COLUMN_NAME,
    COLUMN_INDEX, /* the last three tell GPUs apart, the last of them best */
    COLUMN_BUS,
    COLUMN_UUID,
    N_COLUMNS
};

static const struct {
    const char *name;
    int column;
} columns[] = {
    {"timestamp", COLUMN_TIME},
    {"name", COLUMN_NAME},
    {"gpu_name", COLUMN_NAME},
    {"index", COLUMN_INDEX},
    {"pci.bus_id", COLUMN_BUS},
    {"gpu_bus_id", COLUMN_BUS},
    {"uuid", COLUMN_UUID},
    {"gpu_uuid", COLUMN_UUID},
    {"utilization.gpu", CAPTURE_BUSY},
    {"power.draw", CAPTURE_POWER},
    {"power.draw.average", CAPTURE_POWER},
    {"power.limit", CAPTURE_LIMIT},
    {"enforced.power.limit", CAPTURE_ENFORCED},
    {"clocks.sm", CAPTURE_CLOCK},
    {"clocks.current.sm", CAPTURE_CLOCK},
    {"clocks.max.sm", CAPTURE_CLOCK_MAX},
    {"memory.used", CAPTURE_MEMORY},
    {"memory.total", CAPTURE_MEMORY_ALL},
    {"temperature.gpu", CAPTURE_TEMPERATURE},
};

/* "power.draw [W]" is power.draw; -1 for what we do not use. */
static int column_of(const char *cell)
{
    const size_t n = strcspn(cell, " [");

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strlen(columns[i].name) == n && strncmp(cell, columns[i].name, n) == 0)
            return columns[i].column;
    return -1;
}

/* How many columns are a field of a sample: a header has one at least. The names of the
 * others are common words. */
static size_t read_header(int column[CAPTURE_CELLS_MAX], char *const *cell, size_t n)
{
    size_t n_fields = 0;

    for (size_t i = 0; i < n; i++) {
        column[i] = column_of(cell[i]);
        n_fields += column[i] >= 0 && column[i] < CAPTURE_FIELDS;
    }
    return n_fields;
}

bool capture_smi_is_header(char *line)
{
    char *cell[CAPTURE_CELLS_MAX];
    int column[CAPTURE_CELLS_MAX];

    return read_header(column, cell, capture_cells(line, ",", cell)) > 0;
}

/* "2020/02/25 19:52:17.123" */
static void stamp(struct capture_reader *r, char *text)
{
    char *part[CAPTURE_CELLS_MAX];

    if (capture_cells(text, "/ ", part) == 4)
        capture_time(r, part[0], part[1], part[2], part[3]);
}

/* A limit that is in force is the one that counts. */
static void add_row(struct capture_reader *r, struct capture_gpu_sums *g,
                    const double v[CAPTURE_FIELDS])
{
    const double limit =
        isnan(v[CAPTURE_ENFORCED]) ? v[CAPTURE_LIMIT] : v[CAPTURE_ENFORCED];
    bool counts = false;

    for (int f = 0; f < CAPTURE_FIELDS; f++)
        counts = capture_gpu_add(r, g, (enum capture_field)f, v[f]);
    if (!counts || isnan(v[CAPTURE_BUSY] + v[CAPTURE_POWER] + limit))
        return;
    capture_mean_add(&g->low_power,
                     v[CAPTURE_BUSY] >= 90 && v[CAPTURE_POWER] < limit / 2);
}

static void no_values(double v[CAPTURE_FIELDS])
{
    for (int f = 0; f < CAPTURE_FIELDS; f++)
        v[f] = NAN;
}

static void read_row(struct capture_reader *r, char **cell, size_t n)
{
    char *text[N_COLUMNS] = {0};
    double v[CAPTURE_FIELDS];

    no_values(v);
    for (size_t i = 0; i < n; i++) {
        const int column = r->smi.column[i];
        if (column >= 0 && !text[column])
            text[column] = cell[i];
        if (column >= 0 && column < CAPTURE_FIELDS && isnan(v[column]))
            v[column] = capture_number(cell[i]);
    }
    const char *key = text[COLUMN_NAME] ? text[COLUMN_NAME] : "";
    for (int c = COLUMN_INDEX; c <= COLUMN_UUID; c++)
        key = text[c] ? text[c] : key;
    struct capture_gpu_sums *g = capture_gpu_find(r, key);
    if (!g)
        return;
    if (text[COLUMN_NAME])
        capture_name(g->name, sizeof g->name, text[COLUMN_NAME]);
    if (text[COLUMN_INDEX])
        g->index = capture_number(text[COLUMN_INDEX]);
    add_row(r, g, v);
    if (text[COLUMN_TIME])
        stamp(r, text[COLUMN_TIME]);
}

/* A row with less or more cells than its header was cut or is something else. */
static void csv_line(struct capture_reader *r, char *line)
{
    char *cell[CAPTURE_CELLS_MAX];
    int column[CAPTURE_CELLS_MAX];
    const size_t n = capture_cells(line, ",", cell);

    if (read_header(column, cell, n)) {
        memcpy(r->smi.column, column, n * sizeof *column);
        r->smi.n_columns = n;
    } else if (n == r->smi.n_columns) {
        read_row(r, cell, n);
    }
}

/* ---- the table ---- */

/* "0  Tesla V100-PCIE...  Off": the last word is the persistence mode. */
static void name_row(struct capture_reader *r, char *text, char *bus)
{
    const double index = capture_number(text);

    bus[strcspn(bus, " ")] = '\0';
    struct capture_gpu_sums *g = r->smi.gpu = capture_gpu_find(r, bus);
    if (!g)
        return;
    g->index = index;
    text += strcspn(text, " ");
    text += strspn(text, " ");
    char *last = strrchr(text, ' ');
    while (last && last > text && last[-1] == ' ')
        last--;
    if (last)
        *last = '\0';
    capture_name(g->name, sizeof g->name, text);
}

/* Both sides of "45W / 250W", with anything before it. */
static void read_pair(const char *text, double *part, double *all)
{
    const char *middle = strstr(text, " / "), *word = middle;

    if (!middle)
        return;
    while (word > text && word[-1] != ' ')
        word--;
    *part = capture_number(word);
    *all = capture_number(middle + 3 + strspn(middle + 3, " "));
}

/* "N/A   45C    P0    45W / 250W", "15000MiB / 16160MiB", "100%      Default" */
static void value_row(struct capture_reader *r, char *const *cell)
{
    const char *warmth = cell[0] + strcspn(cell[0], " ");
    double v[CAPTURE_FIELDS];

    no_values(v);
    v[CAPTURE_TEMPERATURE] = capture_number(warmth + strspn(warmth, " "));
    read_pair(cell[0], &v[CAPTURE_POWER], &v[CAPTURE_LIMIT]);
    read_pair(cell[1], &v[CAPTURE_MEMORY], &v[CAPTURE_MEMORY_ALL]);
    v[CAPTURE_BUSY] = capture_number(cell[2]);
    if (r->smi.gpu)
        add_row(r, r->smi.gpu, v);
    r->smi.gpu = NULL; /* rows below it are of its parts */
}

static void table_line(struct capture_reader *r, char *line)
{
    char *cell[CAPTURE_CELLS_MAX];

    if (capture_cells(line + 1, "|", cell) < 3)
        return;
    if (strstr(cell[1], "MiB /"))
        value_row(r, cell);
    else if (isdigit((unsigned char)cell[0][0]) && strchr(cell[1], ':'))
        name_row(r, cell[0], cell[1]);
}

/* "Tue Feb 25 19:52:17 2020" above each table */
static void table_stamp(struct capture_reader *r, const char *line)
{
    char month[4], day[3], clock[9], year[5];

    if (sscanf(line, "%*3s %3s %2s %8s %4s", month, day, clock, year) == 4)
        capture_time(r, year, month, day, clock);
}

void capture_smi_line(struct capture_reader *r, char *line)
{
    line += strspn(line, " \t");
    if (*line == '|')
        table_line(r, line);
    else if (strchr(line, ',') || column_of(line) >= 0 || r->smi.n_columns == 1)
        csv_line(r, line);
    else
        table_stamp(r, line);
}
