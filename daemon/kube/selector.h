/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector - whether the API server takes a selector, and what the selector says about an object; pure.
 * Servers apply selectors. To check them here gives an error with a line of the configuration instead of
 * a 400 at run time. To apply them here tells whether the server would select an object when it cannot
 * be asked (docs/design.md "Edited selectors").
 */
#ifndef KUBE_SELECTOR_H
#define KUBE_SELECTOR_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* Checks a label selector: requirements with commas between them, each one of KEY, !KEY, KEY=V,
 * KEY==V, KEY!=V, KEY in (V,...), KEY notin (V,...), KEY>N, KEY<N. ERR_CONFIG says at which
 * character it is wrong and what was expected there. "" is fine. */
enum err_kind selector_check_labels(const char *text, struct err *err) MUST_CHECK;

/* Calls key with arg for each label key in a label selector, in their order; label is a view of
 * text. In a selector that is wrong only the keys before the fault are found. */
void selector_each_label(const char *text, void (*key)(void *arg, struct str label), void *arg);

/* Checks a field selector: PATH=V, PATH==V or PATH!=V with commas between them; a backslash takes
 * the next ',', '=' or '\' as it is. ERR_CONFIG as for labels. "" is fine. */
enum err_kind selector_check_fields(const char *text, struct err *err) MUST_CHECK;

/* The value that the first PATH=V or PATH==V of a field selector asks for, as it is written; empty if
 * there is none, or the selector is wrong. path has no backslash. */
struct str selector_exact_field(const char *text, const char *path);

/* The value of a label, or of a field, of an object. */
struct selector_value {
    enum { SELECTOR_UNKNOWN, SELECTOR_ABSENT, SELECTOR_PRESENT } is;
    struct str text; /* PRESENT: the value */
};

/* Gives the value of a key or path of a selector for the object in question. */
typedef struct selector_value selector_value_fn(void *arg, struct str key);

/* Does the object fail a requirement of this label selector, as far as its labels are known?
 * value gives them. A selector that is wrong and "" reject nothing. */
bool selector_rejects_labels(const char *text, selector_value_fn *value, void *arg);
/* The same for a field selector. A field that is absent in the object may have a value that only
 * the server knows, so it fails no requirement. */
bool selector_rejects_fields(const char *text, selector_value_fn *value, void *arg);

#endif
