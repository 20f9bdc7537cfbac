#include "dist/watch/pulse.h"

const char *pulse_text(unsigned phase)
{
    static const char *const text[PULSE_N_PHASES] = {
#define P(name, words, waits) words,
        PULSE_PHASES(P)
#undef P
    };

    return phase < PULSE_N_PHASES ? text[phase] : "?";
}

bool pulse_waits(unsigned phase)
{
    static const bool waiting[PULSE_N_PHASES] = {
#define P(name, words, waits) waits,
        PULSE_PHASES(P)
#undef P
    };

    return phase < PULSE_N_PHASES && waiting[phase];
}
