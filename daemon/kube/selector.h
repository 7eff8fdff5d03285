/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector - is a selector one that the API server takes, and what does it say of an object? Pure. Servers
 * apply selectors; checking them here gives an error with a line instead of a 400 at run time, and applying
 * them tells what the server would say of an object that it cannot be asked for.
 */
#ifndef KUBE_SELECTOR_H
#define KUBE_SELECTOR_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* Label selector: requirements with commas between them, each one of KEY, !KEY, KEY=V, KEY==V,
 * KEY!=V, KEY in (V,...), KEY notin (V,...), KEY>N, KEY<N. ERR_CONFIG says at which character and
 * what was expected. "" is fine. */
enum err_kind selector_check_labels(const char *text, struct err *err) MUST_CHECK;

/* Calls key for each label key in a selector, a view of text, in their order; of one that the above
 * does not take up to where it is wrong. */
void selector_each_label(const char *text, void (*key)(void *arg, struct str label), void *arg);

/* Field selector: PATH=V, PATH==V or PATH!=V with commas between them; a backslash takes the next
 * ',', '=' or '\' as it is. Errors as above. "" is fine. */
enum err_kind selector_check_fields(const char *text, struct err *err) MUST_CHECK;

/* The value of a label, or of a field, of an object. */
struct selector_value {
    enum { SELECTOR_UNKNOWN, SELECTOR_ABSENT, SELECTOR_PRESENT } is;
    struct str text; /* PRESENT */
};

/* Called for each key or path of a selector. */
typedef struct selector_value selector_value_fn(void *arg, struct str key);

/* Is there a requirement that the object does not meet, as far as its values are known? Selectors as above;
 * "" rejects nothing. */
bool selector_rejects_labels(const char *text, selector_value_fn *value, void *arg);
/* The same of a field selector. A field that is absent has a value that only the server knows. */
bool selector_rejects_fields(const char *text, selector_value_fn *value, void *arg);

#endif
