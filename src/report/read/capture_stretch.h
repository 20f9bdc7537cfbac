/*
 * capture_stretch - where in a series of samples something was busy, found in bounded
 * memory by reading the series three times.
 *
 *     1  capture_stretch_level   of every sample: which level carried most?
 *     -  capture_stretch_cut     samples from a part of that level on are busy
 *     2  capture_stretch_look    of every sample: where do busy ones lie together?
 *     3  capture_stretch_holds   is sample i one of the stretch?
 *
 * The level is the median weighted by the samples themselves: half of all that was
 * carried, was carried in samples of at least this. So the hours before and after a run
 * do not lower it, however many they are, as they would lower a quantile of the samples.
 *
 * A pause of ten samples, or of a tenth of the stretch before it, does not end a stretch:
 * steps may be longer than the interval of the samples, and evaluations and checkpoints
 * belong to a run. Of several stretches the one that carried most is kept. Where no
 * sample says anything, all are held.
 *
 * Owns nothing; a zeroed one is ready for the first pass.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CAPTURE_STRETCH_LEVELS = 256 }; /* four an octave */

struct capture_stretch {
    double carried[CAPTURE_STRETCH_LEVELS]; /* sum of the samples of each level */
    double least;                           /* a busy sample */
    uint64_t n;                             /* samples of the first pass */
    uint64_t n_known;                       /* those that say something */
    uint64_t n_looked;                      /* samples of the second pass */
    struct capture_stretch_part {
        uint64_t first, last; /* samples, both included */
        double sum;
        bool is_there;
    } open, best;
};

/* x: finite and not negative, or NAN for a sample that does not say. */
void capture_stretch_level(struct capture_stretch *s, double x);
void capture_stretch_cut(struct capture_stretch *s, double part);
void capture_stretch_look(struct capture_stretch *s, double x);
bool capture_stretch_holds(const struct capture_stretch *s, uint64_t i);

/* Samples of the stretch. */
double capture_stretch_length(const struct capture_stretch *s);
