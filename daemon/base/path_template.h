/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_template - makes the path of an output file from a template in which the names of an object
 * are variables (docs/design.md "File paths"); pure. In base because conf checks templates, hook
 * compares their paths, and the helper opens the files.
 */
#ifndef BASE_PATH_TEMPLATE_H
#define BASE_PATH_TEMPLATE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"

enum path_template_variable {
    PATH_TEMPLATE_NAMESPACE,
    PATH_TEMPLATE_NAME,
    PATH_TEMPLATE_CLUSTER,
    PATH_TEMPLATE_NODE_NAME,
    PATH_TEMPLATE_KEY
};
enum {
    PATH_TEMPLATE_VARIABLES = PATH_TEMPLATE_KEY + 1,
    PATH_TEMPLATE_COMPONENT_MAX = 255, /* NAME_MAX */
    PATH_TEMPLATE_PATH_MAX = 4095      /* PATH_MAX without the NUL */
};

/* Names of the helper's own files begin like this, so no output file may have such a name. */
#define PATH_TEMPLATE_RESERVED ".informerd-"

/* The values of the variables, by enum path_template_variable. Borrowed; NULL = the variable may
 * not occur. */
struct path_template_values {
    const char *of[PATH_TEMPLATE_VARIABLES];
};

/* Checks a template: it is absolute, has no empty, "." or ".." component, no component that begins
 * with PATH_TEMPLATE_RESERVED, no variable except ${namespace}, ${name}, ${cluster}, ${node_name}
 * and ${key}, no other "$", has a file name at the end, and is not too long even with values of
 * one byte. *used gets a bit 1u << variable for each variable that occurs. ERR_CONFIG with a text
 * that follows the name of the setting ("must ..."). */
enum err_kind path_template_check(const char *template, unsigned *used, struct err *err) MUST_CHECK;

/* Appends the path to out, without a NUL. *fixed (may be NULL) gets the length of the folder before
 * the first component with a variable, or of the folder of the file if no component has one; at
 * least 1 ("/"). ERR_CONFIG: the template is bad, or a value is no file name (empty, ".", "..", or
 * with "/"). ERR_TOO_BIG: a component or the path is too long. out is unchanged after an error. */
enum err_kind path_template_expand(const char *template, const struct path_template_values *values,
                                   struct buf *out, size_t *fixed, struct err *err) MUST_CHECK;

/* The value for a name of an object, as a string that the caller frees: "", which path_template_expand()
 * refuses, if the name has a NUL. */
char *path_template_name(struct str name) MUST_CHECK;

/* A copy of a program's argument with every ${file} replaced; the caller frees it. */
char *path_template_put_file(const char *argument, const char *file) MUST_CHECK;

#endif
