#include "dist/watch/phase.h"

static const struct {
    const char *text;
    bool waits;
} phases[N_PHASES] = {
#define P(name, text, waits) {text, waits},
    PHASE_LIST(P)
#undef P
};

const char *phase_text(unsigned phase)
{
    return phase < N_PHASES ? phases[phase].text : "?";
}

bool phase_waits(unsigned phase)
{
    return phase < N_PHASES && phases[phase].waits;
}
