/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_race - happy eyeballs (RFC 8305): which address of a host is tried when; pure.
 *
 * The addresses are tried one after the other, 250 ms apart, or at once when an attempt fails. The
 * attempts before go on meanwhile, and the first connection wins. So an address that does not
 * answer costs 250 ms, and not the whole timeout (docs/kubernetes-protocol.md "Connecting").
 */
#ifndef PROTO_ADDRESS_RACE_H
#define PROTO_ADDRESS_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/address.h"

enum {
    ADDRESS_RACE_MAX = 16,       /* so many addresses of a host are tried */
    ADDRESS_RACE_DELAY_MS = 250, /* from one attempt to the next: RFC 8305 section 5 */
    /* An address that failed is tried after all others for so long: a minute bounds the attempts
     * that a host in maintenance costs, and the time until one that is back gets its share. */
    ADDRESS_RACE_MEMORY_MS = 60000,
    ADDRESS_RACE_NONE = ADDRESS_RACE_MAX,
};

enum address_attempt_state { ATTEMPT_WAITING, ATTEMPT_TRYING, ATTEMPT_FAILED, ATTEMPT_CONNECTED };

struct address_attempt {
    struct address address;
    enum address_attempt_state state;
    enum err_kind kind; /* FAILED: why; the text is constant */
    int code;
    const char *why;
};

struct address_race {
    struct address_attempt v[ADDRESS_RACE_MAX]; /* in the order in which they are tried */
    size_t n;
    size_t started;      /* so many attempts have begun, from the first on */
    uint64_t timeout_ms; /* of all attempts together */
    uint64_t delay_ms;   /* ADDRESS_RACE_DELAY_MS, or less if the timeout is too short for that */
    uint64_t next_ms;    /* when the next attempt may begin */
    uint64_t end_ms;     /* when all is over */
};

/* Puts the addresses in order. The families alternate, and the one that the resolver puts first
 * begins: that is IPv6 where the host has a route for it, unless gai.conf(5) says otherwise (RFC
 * 8305 section 4). Addresses that failed in the last ADDRESS_RACE_MEMORY_MS come after all others,
 * the one that failed longest ago first. now_ms is any clock that only goes forward, > 0. */
void address_race_init(struct address_race *r, const struct addresses *from, uint64_t timeout_ms,
                       uint64_t now_ms);

/* The address to connect to now: an index in v, which is TRYING from now on. ADDRESS_RACE_NONE: no
 * attempt begins now. To be called until then, at the start, at address_race_due_ms() and after
 * each failure. */
size_t address_race_next(struct address_race *r, uint64_t now_ms);

/* Attempt i failed. The next one may begin at once. why is a constant text. */
void address_race_failed(struct address_race *r, size_t i, enum err_kind kind, int code,
                         const char *why);

/* Attempt i has connected: no other one begins. */
void address_race_connected(struct address_race *r, size_t i);

/* When address_race_next() or address_race_time_out() is to be called. */
uint64_t address_race_due_ms(const struct address_race *r);

/* Fails all attempts if the time is over. */
void address_race_time_out(struct address_race *r, uint64_t now_ms);

/* Have all attempts failed? */
bool address_race_is_lost(const struct address_race *r);

/* Does the attempt count as a failure of its address, when the race is over? It does if it failed,
 * or was still silent when one that began later had connected. */
bool address_race_was_bad(const struct address_race *r, size_t i);

/* Why all attempts failed: each reason with its addresses, refused connections first, since they show
 * that a host is there. host is the name that the user wrote; an only address that equals it is left
 * out. After address_race_is_lost(). */
void address_race_explain(const struct address_race *r, const char *host, struct err *err);

#endif
