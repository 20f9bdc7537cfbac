#include "report/rate_text.h"

#include <math.h>
#include <string.h>

#include "report/fmt.h"
#include "report/run.h"

/* t counts updates before the one it is used for, from 0. */
static const struct policy {
    const char *name, *formula;
} policies[] = {
    {"fixed_lr", "rate = lr"},
    {"piecewise_constant", "rate = lr \u00d7 the factor of the interval that t is in"},
    {"exp_decay",
     "rate = max(min_lr, lr \u00d7 decay_rate^((t \u2212 begin) / decay_steps))"},
    {"poly_decay",
     "rate = lr \u00d7 t / warmup_steps in warm-up, then (lr \u2212 min_lr) "
     "\u00d7 (1 \u2212 (t \u2212 begin) / decay_steps)^power + min_lr"},
    {"cosine_decay",
     "rate = lr \u00d7 ((1 \u2212 min_lr) \u00d7 \u00bd(1 + cos(\u03c0 (t "
     "\u2212 begin) / decay_steps)) + min_lr), after a linear warm-up"},
    {"transformer_policy",
     "rate = lr \u00d7 d_model^\u2212\u00bd \u00d7 min((t + 1) \u00d7 "
     "warmup_steps^\u22121.5, (t + 1)^\u2212\u00bd)"},
    {"inv_poly_decay", "rate = lr / (1 + s t)^power, with s such that it is min_lr after "
                       "decay_steps"},
};

/* Options that a formula may use, and the symbol it uses for them. */
static const struct {
    const char *key, *symbol;
} symbols[] = {
    {"learning_rate", "lr"},
    {"d_model", "d_model"},
    {"warmup_steps", "warmup_steps"},
    {"begin_decay_at", "begin"},
    {"decay_steps", "decay_steps"},
    {"decay_rate", "decay_rate"},
    {"min_lr", "min_lr"},
    {"power", "power"},
};

static const struct policy *find_policy(const struct run *run)
{
    const char *name = runlog_config(&run->log, "lr_policy");

    for (size_t i = 0; name && i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    return NULL;
}

bool rate_text_formula(struct str *out, const struct run *run)
{
    const struct policy *p = find_policy(run);
    const char *glue = "; here ";

    if (!p)
        return false;
    str_printf(out, "%s: %s", p->name, p->formula);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const char *value = runlog_config(&run->log, symbols[i].key);
        if (!value || !strstr(p->formula, symbols[i].symbol))
            continue;
        str_printf(out, "%s%s = %s", glue, symbols[i].symbol, value);
        glue = ", ";
    }
    return true;
}

double rate_text_warmup(const struct run *run)
{
    const struct policy *p = find_policy(run);
    const double steps = run_config(run, "warmup_steps");

    return p && strstr(p->formula, "warm") && steps > 0 ? steps : NAN;
}
