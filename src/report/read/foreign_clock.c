/* Dates in a console log, and what they say of its clock. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/read/foreign_parts.h"

void foreign_clock_init(struct foreign_clock *c)
{
    *c = (struct foreign_clock){NAN, NAN, NAN, NAN, NAN};
}

static double seconds_of(int year, int month, int day, int hour, int minute,
                         double second)
{
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute};

    if (year < 1990 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 ||
        hour < 0 || hour > 23 || minute < 0 || minute > 59 || !(second >= 0) ||
        second > 61)
        return NAN;
    return (double)timegm(&tm) + second;
}

static int month_of(const char *name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const char *at = strlen(name) == 3 ? strstr(names, name) : NULL;

    return at && (at - names) % 3 == 0 ? (int)(at - names) / 3 + 1 : 0;
}

/* TensorFlow and Python: "2020-02-25 19:52:17.265471: I ..."; Horovod has a '[' before.
 */
static double date_iso(const char *s, const char **rest)
{
    int year, month, day, hour, minute, n = 0;
    double second;

    s += *s == '[';
    if (sscanf(s, "%4d-%2d-%2d%*1[ T]%2d:%2d:%lf%n", &year, &month, &day, &hour, &minute,
               &second, &n) < 6 ||
        !n)
        return NAN;
    *rest = s + n;
    return seconds_of(year, month, day, hour, minute, second);
}

/* mpirun --timestamp-output: "Tue Feb 25 19:52:17 2020[1,0]<stdout>:" */
static double date_ctime(const char *s, const char **rest)
{
    int day, hour, minute, year, n = 0;
    double second;
    char month[4];

    if (sscanf(s, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%lf %4d%n", month, &day, &hour,
               &minute, &second, &year, &n) < 6 ||
        !n)
        return NAN;
    *rest = s + n;
    return seconds_of(year, month_of(month), day, hour, minute, second);
}

/* glog: "W0225 19:52:59.507150 ..." */
static double date_glog(const char *s, double year, const char **rest)
{
    int month, day, hour, minute, n = 0;
    double second;

    if (!strchr("IWEF", *s) || !isfinite(year) ||
        sscanf(s + 1, "%2d%2d %2d:%2d:%lf%n", &month, &day, &hour, &minute, &second, &n) <
            5 ||
        !n)
        return NAN;
    *rest = s + 1 + n;
    return seconds_of((int)year, month, day, hour, minute, second);
}

/* The date at the start of the line, in seconds since 1970 as if it were UTC, and what
 * follows it in *rest; NAN when there is none. `year` serves dates without one. */
static double read_date(const char *line, double year, const char **rest)
{
    double t = NAN;

    *rest = line;
    if (isdigit((unsigned char)line[0]) || line[0] == '[')
        t = date_iso(line, rest);
    else if (isupper((unsigned char)line[0]) && isdigit((unsigned char)line[1]))
        t = date_glog(line, year, rest);
    else if (isupper((unsigned char)line[0]))
        t = date_ctime(line, rest);
    if (!isfinite(t))
        *rest = line;
    return t;
}

const char *foreign_clock_line(struct foreign_clock *c, const char *line, double t,
                               bool has_begun)
{
    const char *rest;
    const double date = read_date(line, c->year, &rest);

    if (!isfinite(date))
        return line;
    const time_t whole = (time_t)date;
    struct tm tm;
    if (gmtime_r(&whole, &tm))
        c->year = tm.tm_year + 1900;
    if (!isfinite(c->first))
        c->first = date;
    if (has_begun) /* the entry before it ended no later */
        c->high = fmin(c->high, date - t);
    c->waiting = fmax(c->waiting, date);
    return rest;
}

void foreign_clock_entry(struct foreign_clock *c, double t)
{
    c->low = fmax(c->low, c->waiting - t); /* fmax ignores a NAN */
    c->waiting = NAN;
}

/* Bounds that contradict each other by more than a minute are of lines out of order, or
 * of another clock: then the first line dates the beginning. */
double foreign_clock_zero(const struct foreign_clock *c, bool is_one_session)
{
    if (!isfinite(c->low))
        return c->high;
    if (!isfinite(c->high))
        return c->low;
    if (c->low <= c->high + 60)
        return (c->low + c->high) / 2;
    return is_one_session ? c->first : NAN;
}
