/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide - texts for peers that may be anybody: without names of objects (metrics.page_keys), and for
 * the page without paths; pure.
 */
#ifndef ADMIN_HIDE_H
#define ADMIN_HIDE_H

#include "base/str.h"

struct admin_model;
struct buf;
struct hook;
struct watch_status;

/* Appends the error of the watch. If names are hidden, a hint where to find it stands in its place, unless it
 * is one of network, TLS or credential: a server may name an object in any sentence. */
void hide_put_watch_error(struct buf *out, const struct admin_model *m,
                          const struct watch_status *s);

/* Appends the last error of the hook, as hook_last_error(); nothing if there is none. If names are
 * hidden, it says how the program ended, and not for which file, whose path may name an object. */
void hide_put_hook_error(struct buf *out, const struct admin_model *m, const struct hook *h);

/* Appends the text, with the last name of each absolute path in it alone: ".../ca.crt". */
void hide_put_without_paths(struct buf *out, struct str text);

#endif
