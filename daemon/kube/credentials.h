/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials - decides when credentials are read, and whether those that were read are used or
 * the ones before them stay (docs/kubernetes-protocol.md "Bearer tokens" and "Certificates and
 * CAs"); pure. It sees digests, never the credentials themselves.
 *
 * Credentials come from sources. A source is read, judged and used as a whole, so a client
 * certificate is never used with the key of another one.
 */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/compiler.h"
#include "base/digest.h"

enum credentials_source {
    CREDENTIALS_CA,
    CREDENTIALS_PAIR, /* the client certificate and its key */
    CREDENTIALS_TOKEN,
    CREDENTIALS_PLUGIN, /* a token, or a certificate and its key, or all three */
    CREDENTIALS_SOURCES
};

enum credentials_how {
    CREDENTIALS_NONE,   /* the source is not configured */
    CREDENTIALS_FIXED,  /* it never changes: data of a kubeconfig */
    CREDENTIALS_FILES,  /* files, at least one */
    CREDENTIALS_PROGRAM /* to read the source, a program is run */
};

struct credentials_params {
    enum credentials_how how[CREDENTIALS_SOURCES];
    /* There is a fixed token that serves until the source can be used for the first time. */
    bool has_stand_in[CREDENTIALS_SOURCES];
    struct backoff_params retry; /* between readings that fail */
    uint64_t seed;               /* of the jitter of retry */
};

enum credentials_state {
    CREDENTIALS_LACKING,     /* nothing could be used yet */
    CREDENTIALS_STANDING_IN, /* the fixed token serves */
    CREDENTIALS_USED,        /* those that were read last are in use */
    /* With both states those that were read last cannot be used, and earlier ones serve. */
    CREDENTIALS_DOUBTED, /* for a moment: files are replaced one after the other */
    CREDENTIALS_OLD,     /* for longer than that */
};

enum credentials_turn {
    CREDENTIALS_WAITING,
    CREDENTIALS_READING,
    CREDENTIALS_OVERTAKEN, /* being read, and changed meanwhile: to be read once more */
};

/* One source; for credentials.c alone. */
struct credentials_one {
    enum credentials_how how;
    bool has_stand_in;
    enum credentials_state state;
    enum credentials_turn turn;
    uint64_t due_ms;     /* WAITING: when to read; UINT64_MAX = only after an event */
    uint64_t doubted_ms; /* since when the source is DOUBTED */
    uint64_t calm_ms;    /* until then a 401 does not have the source read at once */
    struct digest used;  /* of those in use, from USED on */
    struct backoff retry;
    struct backoff calm;
};

struct credentials {
    struct credentials_one of[CREDENTIALS_SOURCES];
    struct backoff_params retry;
    struct rng rng;
};

/* All configured sources are to be read at now_ms. */
void credentials_init(struct credentials *c, const struct credentials_params *params,
                      uint64_t now_ms);

/* The files of a source may have changed: the source is read now. */
void credentials_changed(struct credentials *c, enum credentials_source source, uint64_t now_ms);

/* A server has answered 401: certificate, key and token are read now. If they are replaced again
 * and again and refused each time, the readings get the pauses of retry. A program also gets them if
 * it has nothing new; while it fails a 401 does not have it run. */
void credentials_refused(struct credentials *c, uint64_t now_ms);

/* True: *source is to be read now, and to be given to credentials_judge(). The caller asks until
 * the answer is false. */
bool credentials_take(struct credentials *c, uint64_t now_ms,
                      enum credentials_source *source) MUST_CHECK;

/* When to call credentials_take() next, if nothing happens before; UINT64_MAX = never. */
uint64_t credentials_due_ms(const struct credentials *c) MUST_CHECK;

/* The same for one source. */
uint64_t credentials_next_ms(const struct credentials *c,
                             enum credentials_source source) MUST_CHECK;

/* Are credentials with this digest in use? The caller need not look into them again then. */
bool credentials_has(const struct credentials *c, enum credentials_source source,
                     struct digest digest) MUST_CHECK;

/* The result of reading a source. */
struct credentials_reading {
    bool is_good;         /* the source could be read, and TLS or HTTP can use its contents */
    struct digest digest; /* if is_good: of all bytes that were read */
    uint64_t expires_s;   /* if is_good: seconds since 1970; 0 = not known, or never */
    uint64_t wall_s;      /* the time of day now, as expires_s */
};

enum credentials_verdict {
    CREDENTIALS_SAME,     /* equal to those in use */
    CREDENTIALS_USE,      /* use these from now on */
    CREDENTIALS_KEEP,     /* these cannot be used: the earlier ones serve */
    CREDENTIALS_STAND_IN, /* these cannot be used: use the fixed token */
    CREDENTIALS_LACK,     /* these cannot be used, and there are no others */
};

/* Judges a source that was read. *is_news: a person should know; KEEP, STAND_IN and LACK: of the
 * failure, for KEEP of files only once it has lasted for 5 s; SAME and USE: that it is over. */
enum credentials_verdict credentials_judge(struct credentials *c, enum credentials_source source,
                                           const struct credentials_reading *r, uint64_t now_ms,
                                           bool *is_news);

/* Is there something to use from each configured source? */
bool credentials_are_usable(const struct credentials *c) MUST_CHECK;

#endif
