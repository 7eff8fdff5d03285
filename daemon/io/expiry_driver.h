/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry_driver - logs when a credential of a cluster expires soon, has expired, or is not valid
 * yet: once, and once more when that changes. kube/expiry decides; driver.
 */
#ifndef IO_EXPIRY_DRIVER_H
#define IO_EXPIRY_DRIVER_H

#include <stdint.h>

#include "kube/expiry.h"

struct expiry_driver;
struct loop;

/* Never NULL; release with expiry_driver_dispose(). cluster is the name for the log, borrowed;
 * window_ms is limits.credential_expiry. */
struct expiry_driver *expiry_driver_create(struct loop *loop, const char *cluster,
                                           uint64_t window_ms);

/* Another credential is in use: see expiry_set(). Looks at once. */
void expiry_driver_set(struct expiry_driver *d, enum expiry_item item, struct str text,
                       const char *from);

/* The same for the credential of an exec plugin: see expiry_set_given(). */
void expiry_driver_set_given(struct expiry_driver *d, enum expiry_item item, struct str text,
                             const char *from, int64_t till_s);

/* The dates of the credentials in use. Valid until expiry_driver_dispose(). */
const struct expiry *expiry_driver_expiry(const struct expiry_driver *d);

/* The end for the user: *d is NULL. NULL is fine. */
void expiry_driver_dispose(struct expiry_driver **d);

#endif
