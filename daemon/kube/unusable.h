/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unusable - an object that a list or a stream shows and that cannot be taken: what could be read of
 * it; data. Such an object is skipped alone, and keeps the state that is known of it.
 */
#ifndef KUBE_UNUSABLE_H
#define KUBE_UNUSABLE_H

#include <stdbool.h>

#include "base/str.h"

/* Borrowed from the reader until its callback returns. */
struct unusable {
    const char *why; /* a constant text ("it ...", "its ...") */
    struct str key;  /* its key in a store; empty: its name cannot be used for one */
    struct str name; /* the same, or what stands in place of a name; empty: that cannot be read */
    struct str uid;  /* empty: cannot be read */
    struct str rv;   /* empty: cannot be read */
    bool foreign;    /* it is of another kind or version */
};

#endif
