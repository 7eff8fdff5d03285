/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_path - a subset of kubectl's JSONPath, without the braces, parsed once; pure:
 *
 *     spec.ports[*].port   metadata.annotations['example.com/x']   spec.ports[0].name   a.*
 */
#ifndef PROTO_JSON_PATH_H
#define PROTO_JSON_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct json_path;

/* The limits of a path. */
enum { JSON_PATH_MAX_STEPS = 32, JSON_PATH_MAX_INDEX = 1000000 };

/* Parses a path: member names separated by dots ("\." is a dot inside a name), ['name'] or ["name"] with
 * \ before a quote, [N], [*] and .* for all elements or members. A leading dot is fine. ERR_CONFIG says
 * at which character the path is wrong, and what was expected there. Release with
 * json_path_destroy(). */
enum err_kind json_path_parse(const char *text, struct json_path **out, struct err *err) MUST_CHECK;

/* Frees the path and sets *p to NULL. NULL is fine. */
void json_path_destroy(struct json_path **p);

enum json_path_kind { JSON_PATH_MEMBER, JSON_PATH_INDEX, JSON_PATH_ALL };

struct json_path_step {
    enum json_path_kind kind;
    struct str name;  /* MEMBER; borrowed from the path */
    size_t index;     /* INDEX */
    size_t character; /* where the step begins in the text, from 1 */
};

/* Whether the step goes through this member (key) or, with key NULL, this element (index). */
static inline bool json_path_fulfils(const struct json_path_step *step, const struct str *key,
                                     size_t index)
{
    switch (step->kind) {
    case JSON_PATH_MEMBER:
        return key != NULL && str_eq(*key, step->name);
    case JSON_PATH_INDEX:
        return key == NULL && step->index == index;
    case JSON_PATH_ALL:
        break;
    }
    return true;
}

/* The number of steps of a path, at least 1. */
size_t json_path_length(const struct json_path *p);

/* Step i of a path, counted from 0. ALL goes to all elements of an array and all members of an
 * object. */
struct json_path_step json_path_step(const struct json_path *p, size_t i);

/* Appends a member's name as the next step to the text of a path, which is all that out holds. The
 * name is written plainly if it consists of letters, digits, _ and -, else quoted. False, with out
 * unchanged, for a name that cannot stand in a line of text: with control characters, or of more
 * than 1024 bytes. */
bool json_path_put_member(struct buf *out, struct str name);

/* Appends an element as the next step: "[3]". False, with out unchanged, for an index over
 * JSON_PATH_MAX_INDEX. */
bool json_path_put_index(struct buf *out, size_t index);

/* Appends to out, for each of n paths in order, the values that it selects in the JSON text: a line
 * "COUNT\n" and then COUNT values in the order of the document, byte for byte as they stand there
 * (white space between tokens included), each followed by '\n'. Absent values and JSON null give
 * the same bytes ("0\n"), and so does a path that asks a value of another type for members or
 * elements. Two documents give the same bytes if and only if every path selects the same in both.
 * One pass over text does for all n paths. ERR_PROTOCOL, ERR_CLOSED or ERR_TOO_BIG as
 * json_in_scan() if text is not one JSON value; out is then unchanged. */
enum err_kind json_path_select(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err) MUST_CHECK;

/* Selects values for environment variables: appends to out[i], an array of n buffers, the values
 * that paths[i] selects. A string is decoded; a number, true or false stands there as it was
 * written; an object or array as its bytes. Several values are joined by one blank, as kubectl
 * does; absent and null ones are left out. One pass over text does for all n paths. ERR_CONFIG when
 * a string decodes to text with a NUL byte, which no environment variable can hold: err names the
 * first such path; other errors as json_path_select(). After an error the contents of out are of no
 * use. */
enum err_kind json_path_values(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err) MUST_CHECK;

#endif
