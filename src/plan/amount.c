#include "plan/amount.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Devices of one node; more is a slip of the finger. */
enum { PER_NODE_MAX = 64 };

/* A positive finite decimal number at the start of text; returns what follows, or NULL.
 */
static const char *read_number(const char *text, double *out)
{
    const size_t n = strspn(text, ".0123456789");
    char *end;

    if (n == 0 || n > 30)
        return NULL;
    *out = strtod(text, &end);
    if (end != text + n || !(*out > 0) || !isfinite(*out))
        return NULL;
    return end;
}

/* The factor of a unit in `list`, or 0. */
struct unit {
    const char *name;
    double factor;
};

static double factor_of(const struct unit *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].factor;
    return 0;
}

/* The unit of a rate without its "/s" or "ps"; false when it is too long to be one. */
static bool cut_per_second(char out[8], const char *unit)
{
    size_t n = strlen(unit);

    if (n > 2 && (strcmp(unit + n - 2, "/s") == 0 || strcmp(unit + n - 2, "ps") == 0))
        n -= 2;
    if (n >= 8)
        return false;
    memcpy(out, unit, n);
    out[n] = '\0';
    return true;
}

status amount_rate(struct amount_rate *out, const char *text, struct err *err)
{
    static const struct unit bits[] = {
        {"Kb", 1e3},   {"kb", 1e3},   {"Mb", 1e6},   {"Gb", 1e9},   {"Tb", 1e12},
        {"Kbit", 1e3}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"Tbit", 1e12}};
    static const struct unit bytes[] = {{"KB", 1e3},    {"kB", 1e3},     {"MB", 1e6},
                                        {"GB", 1e9},    {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                        {"GiB", 0x1p30}};
    char unit[8];
    double x;
    const char *rest = read_number(text, &x);

    if (rest && cut_per_second(unit, rest)) {
        const double bit = factor_of(bits, sizeof bits / sizeof *bits, unit);
        const double byte = factor_of(bytes, sizeof bytes / sizeof *bytes, unit);
        if (bit > 0 || byte > 0) {
            *out = (struct amount_rate){x * (bit > 0 ? bit / 8 : byte), bit > 0};
            return OK;
        }
    }
    return err_set(err, ERR_USAGE,
                   "network = %.64s: want a rate such as 1Gb, 100Mb/s (bits) or 205MB/s, "
                   "200000KiB/s (bytes)",
                   text);
}

status amount_seconds(double *out, const char *name, const char *text, struct err *err)
{
    static const struct unit units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                        {"s", 1},     {"min", 60},  {"h", 3600},
                                        {"d", 86400}};
    double x = 0;

    if (strcmp(text, "0") == 0) {
        *out = 0;
        return OK;
    }
    const char *rest = read_number(text, &x);
    const double factor = rest ? factor_of(units, sizeof units / sizeof *units, rest) : 0;
    if (!(factor > 0))
        return err_set(err, ERR_USAGE,
                       "%s = %.64s: want a time such as 50us, 1.5ms, 2s, 10min, 3h, 7d "
                       "or 0",
                       name, text);
    *out = x * factor;
    return OK;
}

static status read_count(int *out, const char **text, const char *whole, struct err *err)
{
    char *end;
    const long n = strtol(*text, &end, 10);

    if (end == *text || **text < '0' || **text > '9' || n < 1 || n > PER_NODE_MAX ||
        (*end && *end != ','))
        return err_set(err, ERR_USAGE,
                       "per_node = %.64s: want a number from 1 to %d, or one for each "
                       "node as in 1,2",
                       whole, PER_NODE_MAX);
    *out = (int)n;
    *text = *end ? end + 1 : end;
    if (*end && !**text)
        return err_set(err, ERR_USAGE, "per_node = %.64s: a number is missing at the end",
                       whole);
    return OK;
}

status amount_per_node(int *per_node, size_t n_nodes, const char *text, struct err *err)
{
    const char *at = text;
    size_t n = 0, n_given = 1;

    for (const char *c = text; *c; c++)
        n_given += *c == ',';
    if (n_given != 1 && n_given != n_nodes)
        return err_set(err, ERR_USAGE,
                       "per_node = %.64s names %zu nodes, but there are nodes = %zu",
                       text, n_given, n_nodes);
    do {
        TRY(read_count(&per_node[n], &at, text, err));
        n++;
    } while (*at);
    for (; n < n_nodes; n++)
        per_node[n] = per_node[0];
    return OK;
}
