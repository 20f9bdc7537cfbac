#include "recipe/runlog_schema.h"

/* AT(name) is the offset in the struct of the list at hand; columns that a list does not
 * have are NONE. */
#define ROW(type, name, unit, steps, ranks, ...) \
    {#name, RUNLOG_##type, AT(name), unit, RUNLOG_##steps, RUNLOG_##ranks},
#define F(type, name, ...) ROW(type, name, __VA_ARGS__, NONE, NONE, NONE)

#define AT(name) offsetof(struct runlog_start, name)
static const struct runlog_field start_fields[] = {RUNLOG_COMMON(F) RUNLOG_START(F)};
#undef AT
#define AT(name) offsetof(struct runlog_step, name)
static const struct runlog_field step_fields[] = {RUNLOG_COMMON(F) RUNLOG_STEP(F)};
#undef AT
#define AT(name) offsetof(struct runlog_ranks, name)
static const struct runlog_field ranks_fields[] = {RUNLOG_COMMON(F) RUNLOG_RANKS(F)};
#undef AT
#define AT(name) offsetof(struct runlog_eval, name)
static const struct runlog_field eval_fields[] = {RUNLOG_COMMON(F) RUNLOG_EVAL(F)};
#undef AT
#define AT(name) offsetof(struct runlog_save, name)
static const struct runlog_field save_fields[] = {RUNLOG_COMMON(F) RUNLOG_SAVE(F)};
#undef AT
#define AT(name) offsetof(struct runlog_best, name)
static const struct runlog_field best_fields[] = {RUNLOG_COMMON(F) RUNLOG_BEST(F)};
#undef AT
#define AT(name) offsetof(struct runlog_skip, name)
static const struct runlog_field skip_fields[] = {RUNLOG_COMMON(F) RUNLOG_SKIP(F)};
#undef AT
#define AT(name) offsetof(struct runlog_sample, name)
static const struct runlog_field sample_fields[] = {RUNLOG_COMMON(F) RUNLOG_SAMPLE(F)};
#undef AT
#define AT(name) offsetof(struct runlog_test, name)
static const struct runlog_field test_fields[] = {RUNLOG_COMMON(F) RUNLOG_TEST(F)};
#undef AT
#define AT(name) offsetof(struct runlog_stop, name)
static const struct runlog_field stop_fields[] = {RUNLOG_COMMON(F) RUNLOG_STOP(F)};
#undef AT
#define AT(name) offsetof(struct runlog_start, name)
static const struct runlog_field data_fields[] = {RUNLOG_DATA(F)};
#undef AT
#define AT(name) offsetof(struct runlog_start, name)
static const struct runlog_field network_fields[] = {RUNLOG_NETWORK(F)};
#undef AT
#define AT(name) offsetof(struct runlog_rank, name)
static const struct runlog_field rank_fields[] = {RUNLOG_RANK(F)};
#undef AT
#define AT(name) offsetof(struct runlog_card, name)
static const struct runlog_field card_fields[] = {RUNLOG_CARD(F)};
#undef AT

#define ROWS(list) list, sizeof list / sizeof *list

const struct runlog_object runlog_schema[RUNLOG_KINDS_N] = {
#define K(kind, name) {#name, ROWS(name##_fields)},
    RUNLOG_KINDS(K)
#undef K
};
