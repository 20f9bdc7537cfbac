/*
 * debian - the corpus debian-de-en: package descriptions in English and German, aligned.
 *
 * Translation-en and Translation-de come from apt (fetch/apt.h) or from files at hand;
 * the rest is a function of them. Writes DIR/{train,valid,test}.{en,de}; all six are
 * complete before the first takes its name.
 */
#pragma once

#include "fetch/fetch.h"

status debian_fetch(const struct fetch_config *c, const char *dir,
                    struct progress *progress, struct fetch_result *r,
                    struct err *err) MUST_CHECK;
