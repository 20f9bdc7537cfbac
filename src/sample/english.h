/*
 * english - the English of a tree.
 *
 * Subject, auxiliary, not, adverb, verb, objects, manner, place, means, time; with
 * do-support, a/an and third person -s.
 */
#pragma once

#include "sample/say.h"

extern const struct language english;
