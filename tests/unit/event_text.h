/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_text - an event of a watch as a line of text; pure.
 */
#ifndef UNIT_EVENT_TEXT_H
#define UNIT_EVENT_TEXT_H

#include "base/buf.h"
#include "kube/event.h"

/* Appends the event and a newline: "ADDED {...} rv=7", "DELETED (not selected) {...} rv=7",
 * "BOOKMARK rv=9 end", "ERROR rv= 410 Expired too old", "UNUSABLE rv= a: why", "SKIPPED rv= :
 * why". */
void event_text_put(struct buf *out, const struct event *e);

#endif
