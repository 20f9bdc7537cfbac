/*
 * known_runs - real runs of the reference's base model, to hold a foreign run against.
 *
 * People who trained Transformer-base with OpenSeq2Seq on WMT16 English-German told their
 * losses, scores and step times. A run of the same size and batch is put beside them, so
 * that "is 2.39 at step 4,001 normal?" has an answer.
 */
#pragma once

struct answer;
struct run;

/* Rows beside the loss, and beside the time of a step; none for another model. */
void known_runs_loss(struct answer *a, const struct run *run);
void known_runs_pace(struct answer *a, const struct run *run);
