/*
 * german - the German of a tree.
 *
 * A clause is written in its fields: front, finite verb, middle, the rest of the verb,
 * and the clauses behind it. Main clauses have the finite verb second, questions first,
 * subordinate clauses last; everything else about German order follows from that and
 * from one fixed order of the middle field: subject, pronouns (accusative, dative), time,
 * dative, accusative, nicht, manner, means, place, predicate.
 */
#pragma once

#include "sample/say.h"

extern const struct language german;
