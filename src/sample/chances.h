/*
 * chances - how often the sample corpus shows what: its difficulty, in one place.
 *
 * Percentages of the cases in which a choice is possible, and relative weights where
 * one of several is taken. The weights of frames and tenses are in clause.c, those of
 * pronouns, determiners and conjunctions in the lexicon.
 */
#pragma once

enum {
    /* Kinds of sentence. */
    CHANCE_STATEMENT = 46,
    CHANCE_LINKED = 22,      /* two clauses: because, when, but... */
    CHANCE_COMPLEMENT = 9,   /* that, whether, where */
    CHANCE_INFINITIVE = 5,   /* tries to */
    CHANCE_YES_NO = 8,       /* did the man...? */
    CHANCE_QUESTION = 10,    /* who, what, where...? */
    CHANCE_OTHER_FIRST = 40, /* of linked: "If it rains, we stay." */
    CHANCE_IT = 35,          /* of linked: the second clause speaks of "it" */
    CHANCE_WEATHER = 10,

    /* Clauses. */
    CHANCE_MODAL = 15,
    CHANCE_NEGATED = 12,
    CHANCE_TIME = 40,
    CHANCE_TIME_COUNTED = 22, /* of times: three days ago, at nine o'clock */
    CHANCE_MID = 12,
    CHANCE_MANNER = 8,
    CHANCE_SPOT = 16,
    CHANCE_MEANS = 7,
    CHANCE_FRONT = 40, /* of those that have a time or place */
    CHANCE_COMMENT = 4,
    CHANCE_AGE = 14, /* of "is": ... years old */
    CHANCE_DEGREE = 30,

    /* Noun phrases. */
    CHANCE_PRONOUN = 26,
    CHANCE_PRONOUN_OBJECT = 20,
    CHANCE_PLURAL = 30,
    CHANCE_ADJECTIVE = 30,
    CHANCE_NUMBER = 22, /* of plurals */
    CHANCE_OWNER = 5,   /* my father's */
    CHANCE_PARTNER = 3, /* and my sister */
    CHANCE_RELATIVE = 8
};
