/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects - Kubernetes objects and watches for tests, made from a few words; pure.
 */
#ifndef UNIT_OBJECTS_H
#define UNIT_OBJECTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "cache/watch.h"
#include "kube/object.h"

/* Appends a ConfigMap without kind and apiVersion, as lists hold it. key: "NS/NAME" or "NAME";
 * data: the members of its data, as JSON ("\"a\":1"); NULL = none. */
void objects_put_item(struct buf *out, const char *key, const char *uid, const char *rv,
                      const char *data);

/* Appends one event of a watch, of a ConfigMap, and a newline. */
void objects_put_event(struct buf *out, const char *type, const char *key, const char *uid,
                       const char *rv, const char *data);

/* The object of an ADDED event, read back; one reference for the caller. */
struct object *objects_make(const char *key, const char *uid, const char *rv, const char *data);

/* A watch named "w" of configmaps in all namespaces of cluster "c": no guard, no jitter, stale
 * after 30 s. */
struct watch_params objects_watch_params(void);

/* The like in cluster "prod", of another resource, without pages: each of its waits and timeouts
 * takes an hour. */
struct watch_params objects_patient_watch_params(const char *resource);

/* A watch of objects_watch_params(), with a name of its own; events NULL = nobody listens. Never
 * NULL. */
struct watch *objects_watch(const char *name, const struct subscriber *events, void *arg);

/* Gives a list_watch the answer 200 with this JSON body, in one piece; returns its next action. */
struct list_watch_action objects_answer(struct list_watch *f, const char *body, struct now now);

/* Lists the watch: items is the JSON inside of [], "" = none. The watch follows the list. */
void objects_sync(struct watch *w, const char *items, const char *rv, struct now now);

#endif
