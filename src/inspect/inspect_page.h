/*
 * inspect_page - a page of facts and tables, for people or as JSON.
 *
 * A page is a JSON object. Printed for people, a scalar is a line "key  value", an object
 * inside it a few such lines, and an array of objects a table whose columns are the keys
 * of its first row. '_' in a key is a space, whole numbers get commas.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

void inspect_page_int(json_t *o, const char *key, uint64_t x);
/* JSON has no NaN and no infinity: they become text. */
void inspect_page_real(json_t *o, const char *key, double x);
/* Bytes of a foreign file: what is not UTF-8 becomes question marks. */
void inspect_page_text(json_t *o, const char *key, const char *text);
/* Sixteen hexadecimal digits, as hashes are written everywhere. */
void inspect_page_hash(json_t *o, const char *key, uint64_t x);

/* A new table of the page, and a new row of a table; both belong to the page. */
json_t *inspect_page_table(json_t *page, const char *key);
json_t *inspect_page_row(json_t *table);

status inspect_page_print(const json_t *page, bool as_json, FILE *out,
                          struct err *err) MUST_CHECK;
