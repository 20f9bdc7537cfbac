#include "dist/watch/phase.h"

const char *phase_text(unsigned phase)
{
    static const char *const text[N_PHASES] = {
#define P(name, words, waits) words,
        PHASE_LIST(P)
#undef P
    };

    return phase < N_PHASES ? text[phase] : "?";
}

bool phase_waits(unsigned phase)
{
    static const bool waiting[N_PHASES] = {
#define P(name, words, waits) waits,
        PHASE_LIST(P)
#undef P
    };

    return phase < N_PHASES && waiting[phase];
}
