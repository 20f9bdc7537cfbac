#include "recipe/runlog_schema.h"

/* A row of a list whose fields are members of struct runlog_OF; columns that the list
 * does not have are NONE. */
#define COLUMNS(of, type, name, unit, steps, ranks, ...)        \
    {#name, RUNLOG_##type,  offsetof(struct runlog_##of, name), \
     unit,  RUNLOG_##steps, RUNLOG_##ranks},
#define ROW(of, ...) COLUMNS(of, __VA_ARGS__, NONE, NONE, NONE)

#define START(...)   ROW(start, __VA_ARGS__)
#define STEP(...)    ROW(step, __VA_ARGS__)
#define RANKS(...)   ROW(ranks, __VA_ARGS__)
#define EVAL(...)    ROW(eval, __VA_ARGS__)
#define VALID(...)   ROW(valid, __VA_ARGS__)
#define SAVE(...)    ROW(save, __VA_ARGS__)
#define BEST(...)    ROW(best, __VA_ARGS__)
#define SKIP(...)    ROW(skip, __VA_ARGS__)
#define SAMPLE(...)  ROW(sample, __VA_ARGS__)
#define TEST(...)    ROW(test, __VA_ARGS__)
#define STOP(...)    ROW(stop, __VA_ARGS__)
#define DATA(...)    ROW(start, __VA_ARGS__)
#define NETWORK(...) ROW(start, __VA_ARGS__)
#define RANK(...)    ROW(rank, __VA_ARGS__)
#define CARD(...)    ROW(card, __VA_ARGS__)

#define FIELDS(...)                             \
    (const struct runlog_field[]){__VA_ARGS__}, \
        sizeof(const struct runlog_field[]){__VA_ARGS__} / sizeof(struct runlog_field)

#define ENTRY(kind, name)  {#name, FIELDS(RUNLOG_COMMON(kind) RUNLOG_##kind(kind))},
#define OBJECT(kind, name) {#name, FIELDS(RUNLOG_##kind(kind))},
const struct runlog_object runlog_schema[RUNLOG_KINDS_N] = {RUNLOG_ENTRIES(ENTRY)
                                                                RUNLOG_OBJECTS(OBJECT)};
