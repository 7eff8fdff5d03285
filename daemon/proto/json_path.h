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

/* What a path can hold. */
enum { JSON_PATH_MAX_STEPS = 32, JSON_PATH_MAX_INDEX = 1000000 };

/* Parses a path: member names separated by dots ("\." is a dot inside a name), ['name'] or ["name"]
 * with \ before a quote, [N], [*] and .* for all elements or members. A leading dot is fine.
 * ERR_CONFIG says at which character and what was expected. Release with json_path_destroy(). */
enum err_kind json_path_parse(const char *text, struct json_path **out, struct err *err) MUST_CHECK;

/* Frees the path and sets *p to NULL. NULL is fine. */
void json_path_destroy(struct json_path **p);

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

/* Appends a member's name as the next step to the text of a path, which is all that out holds;
 * plain if it is made of letters, digits, _ and -, else quoted. False, and out as it was, for a
 * name that does not stand in a line of text: with control characters, or of more than 1024
 * bytes. */
bool json_path_put_member(struct buf *out, struct str name);

/* The like for an element: "[3]". False for one over JSON_PATH_MAX_INDEX. */
bool json_path_put_index(struct buf *out, size_t index);

/* Appends to out, for each of n paths in order, what it selects in the JSON text: a line "COUNT\n"
 * and then that many values in document order, byte for byte as they stand there (white space
 * between tokens included), each followed by '\n'. Absent values and JSON null give the same bytes
 * ("0\n"), and so does a path that asks a value of another type for members or elements. One pass
 * over text for all n paths. Two documents give the same bytes if and only if every path selects
 * the same in both. ERR_PROTOCOL, ERR_CLOSED or ERR_TOO_BIG as json_in_scan() if text is not one
 * JSON value; out is then as it was. */
enum err_kind json_path_select(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err) MUST_CHECK;

/* The like for environment variables: appends to out[i], an array of n buffers, what paths[i]
 * selects. A string is decoded, a number, true or false stands there as it was written, an object
 * or array as its bytes; several values are joined by one space, as kubectl does, absent and null
 * ones left out. One pass over text for all n paths. ERR_CONFIG when a string decodes to text with
 * a NUL byte, which no environment variable can hold: err names the first such path; other errors
 * as json_path_select(). After an error the contents of out are of no use. */
enum err_kind json_path_values(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err) MUST_CHECK;

#endif
