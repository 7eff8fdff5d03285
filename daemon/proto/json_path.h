/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_path - kubectl's JSONPath without braces, a subset, parsed once; pure:
 *     spec.ports[*].port   metadata.annotations['example.com/x']   spec.ports[0].name   a.*
 */
#ifndef PROTO_JSON_PATH_H
#define PROTO_JSON_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct json_path;

/* Parses a path: member names separated by dots ("\." is a dot inside a name), ['name'] or ["name"]
 * with \ before a quote, [N], [*] and .* for all elements or members. A leading dot is fine.
 * ERR_CONFIG says at which character and what was expected. Release with json_path_destroy(). */
enum err_kind json_path_parse(const char *text, struct json_path **out, struct err *err) MUST_CHECK;

/* Frees the path and sets *p to NULL. NULL is fine. */
void json_path_destroy(struct json_path **p);

/* The text it was parsed from. */
const char *json_path_text(const struct json_path *p);

enum json_path_kind { JSON_PATH_MEMBER, JSON_PATH_INDEX, JSON_PATH_ALL };

struct json_path_step {
    enum json_path_kind kind;
    struct str name;  /* MEMBER; borrowed from the path */
    size_t index;     /* INDEX */
    size_t character; /* where it begins in the text, counted from 1 */
};

/* How many steps it has, at least 1. */
size_t json_path_length(const struct json_path *p);

/* Its step i, counted from 0. ALL goes to all elements of an array and all members of an object. */
struct json_path_step json_path_step(const struct json_path *p, size_t i);

/* Appends to out, for each of n paths in order, what it selects in the JSON text: a line "INDEX\n"
 * and then each selected value in document order, byte for byte as it stands there (white space
 * between tokens included), each followed by '\n'. Absent values and JSON null give the same bytes
 * (nothing). One pass over text for all n paths. Two documents in which every path selects the same
 * give the same bytes. ERR_PROTOCOL, ERR_CLOSED or ERR_TOO_BIG as json_in_scan() if text is not one
 * JSON value; out is then as it was. */
enum err_kind json_path_select(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err) MUST_CHECK;

#endif
