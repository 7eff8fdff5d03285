/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry - when the credentials of a cluster expire, and what people are told of it; pure.
 *
 * A credential expires soon if no more is left of its life than the window that is configured, or
 * than a tenth of its life, if that is less: a token that lives for an hour is renewed long before,
 * and a window of a day would always report it.
 */
#ifndef KUBE_EXPIRY_H
#define KUBE_EXPIRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/tls_dates.h"

enum expiry_item { EXPIRY_CA, EXPIRY_CERT, EXPIRY_TOKEN, EXPIRY_ITEMS };

enum expiry_state {
    EXPIRY_NONE,  /* the item is not in use, does not expire, or does not say when */
    EXPIRY_VALID, /* for longer than the window */
    EXPIRY_SOON,
    EXPIRY_EARLY, /* it is not valid yet */
    EXPIRY_OVER,  /* it has expired */
};

/* A CA file with more certificates is a bundle of public CAs, some of which always expire: its
 * dates are not looked at. */
enum { EXPIRY_CAS_MAX = 8 };

/* Zero-initialised: nothing is in use. */
struct expiry {
    struct {
        struct tls_dates v[EXPIRY_CAS_MAX]; /* one, except for CAs; from_s 0 = not known */
        size_t n;
        char *from;    /* where it comes from, for messages */
        bool is_given; /* expiry_set_given() */
    } items[EXPIRY_ITEMS];
};

/* The state of an item at a time, and its dates, for a message. */
struct expiry_view {
    enum expiry_state state;
    const struct tls_dates *dates; /* the validity that the state is about; NULL with NONE */
};

/* The last message about an item. Zero-initialised: there was none. */
struct expiry_said {
    enum expiry_state state;
    int64_t till_s;
};

/* Another credential is in use: text is its PEM, or the token; empty = none any more. from says
 * where it comes from; both are copied or read at once. Of a client certificate only the first one
 * of the text counts. */
void expiry_set(struct expiry *e, enum expiry_item item, struct str text, const char *from);

/* The same for the credential of an exec plugin, which expires at till_s at the latest (seconds since
 * 1970; 0 = the plugin does not say). It never expires soon: many plugins give the same credential until
 * its end, and informerd runs them again by itself. */
void expiry_set_given(struct expiry *e, enum expiry_item item, struct str text, const char *from,
                      int64_t till_s);

/* The state of an item. now_s: wall clock, seconds since 1970. Of several CAs that one counts which
 * expires next; CAs that have expired count only if all have, as bundles keep old ones. */
struct expiry_view expiry_look(const struct expiry *e, enum expiry_item item, int64_t now_s,
                               int64_t window_s);

/* When the first of the credentials in use expires, or has expired. 0 = none of them does. */
int64_t expiry_first_s(const struct expiry *e, int64_t now_s);

/* The next time after now_s at which a state changes by itself. INT64_MAX = none does. */
int64_t expiry_next_s(const struct expiry *e, int64_t now_s, int64_t window_s);

/* Whether the log is to tell of this view: the credential is not valid, or not for long, and that
 * was not said of it yet; or that was said, and now all is well (VALID or NONE). */
bool expiry_is_news(struct expiry_said *said, const struct expiry_view *view);

/* Appends which credential it is, until when it is valid, and with SOON, EARLY and OVER what to do:
 * "client certificate (...) in FILE expires on ...; renew it". The text is the same until the state
 * changes. */
void expiry_put(struct buf *out, const struct expiry *e, enum expiry_item item,
                const struct expiry_view *view);

/* "ca", "certificate", "token": the words of metrics and of the status page. */
const char *expiry_item_name(enum expiry_item item);

/* Appends a time, in seconds since 1970, for people: "2024-05-01 10:20:30 UTC". */
void expiry_put_time(struct buf *out, int64_t s);

/* Frees everything and zeroes *e. */
void expiry_fini(struct expiry *e);

#endif
