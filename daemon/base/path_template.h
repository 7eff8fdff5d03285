/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_template - the path of a hook's output file, in which an object's names are variables
 * (docs/design.md "File paths"); pure. In base because conf checks it, hook compares the paths that
 * it gives, and the helper opens it.
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
    PATH_TEMPLATE_NODE_NAME
};
enum {
    PATH_TEMPLATE_VARIABLES = PATH_TEMPLATE_NODE_NAME + 1,
    PATH_TEMPLATE_COMPONENT_MAX = 255, /* NAME_MAX */
    PATH_TEMPLATE_PATH_MAX = 4095      /* PATH_MAX without the NUL */
};

/* What file names of the helper's own begin with: no output file may. */
#define PATH_TEMPLATE_RESERVED ".informerd-"

/* By path_template_variable; borrowed, NULL = the variable may not occur. */
struct path_template_values {
    const char *of[PATH_TEMPLATE_VARIABLES];
};

/* Checks a template: absolute, no "..", ".", empty or reserved component, no variable but
 * ${namespace}, ${name}, ${cluster} and ${node_name}, no other "$", a file name at the end, and not
 * too long even with values of one byte. *used gets a bit 1u << variable for each that occurs.
 * ERR_CONFIG with a text that follows the setting's name ("must ..."). */
enum err_kind path_template_check(const char *template, unsigned *used, struct err *err) MUST_CHECK;

/* Appends the path to out, without a NUL. *fixed (may be NULL) gets how many of its bytes are the
 * folder before the first component with a variable, or the file's folder if there is none; at
 * least 1 ("/"). ERR_CONFIG if the template is bad or a value is no file name (empty, ".", "..",
 * or with "/"); ERR_TOO_BIG if a component or the path is too long; out is unchanged then. */
enum err_kind path_template_expand(const char *template, const struct path_template_values *values,
                                   struct buf *out, size_t *fixed, struct err *err) MUST_CHECK;

/* A copy of a program's argument with every ${file} replaced; the caller frees it. */
char *path_template_put_file(const char *argument, const char *file) MUST_CHECK;

#endif
