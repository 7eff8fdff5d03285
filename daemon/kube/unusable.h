/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unusable - the fields that could be read of an object of a list or a watch that cannot be used; data.
 * Such an object is skipped alone, and the state that is known of it stays (docs/design.md "Skipped
 * objects").
 */
#ifndef KUBE_UNUSABLE_H
#define KUBE_UNUSABLE_H

#include <stdbool.h>

#include "base/str.h"

/* Borrowed from the reader: until its callback returns, or until its next event. Empty strings could
 * not be read. */
struct unusable {
    const char *why; /* the reason, a constant text ("it ...", "its ...") */
    struct str key;  /* its key in a store; empty: it has no valid name */
    struct str name; /* the same, but the name need not be valid */
    struct str uid;
    struct str rv; /* resourceVersion */
    bool foreign;  /* it is of another kind or apiVersion than the watch */
};

#endif
