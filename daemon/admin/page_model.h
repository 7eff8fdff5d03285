/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_model - the contents of the status page (docs/page.md): rows of watches and hooks, problems, and
 * one sentence about all; pure. admin/page_html and admin/page_json write it.
 */
#ifndef ADMIN_PAGE_MODEL_H
#define ADMIN_PAGE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admin/admin.h"
#include "base/buf.h"

struct history_run;

/* The most problems that are written out; informerctl doctor lists all. */
enum { PAGE_PROBLEMS = 8 };

/* LOOK: no fault, but not as it should be in the long run. */
enum page_level { PAGE_GOOD, PAGE_LOOK, PAGE_BAD };

struct page_watch {
    const char *name;
    const char *cluster;
    const char *resource;
    const char *word; /* of its state; "held" and "stale" come before that */
    enum page_level level;
    bool heard;       /* a server was; else age_ms is 0 */
    uint64_t age_ms;  /* since the last byte of a server */
    unsigned fresh;   /* in thousandths: 1000 = heard now, 0 = stale, or about to be */
    uint64_t changes; /* events that came and tell of objects */
    uint64_t objects;
    uint64_t bytes;
    uint64_t skipped;
    struct buf error; /* owned; empty = none */
};

struct page_hook {
    const char *name;
    const char *word;
    enum page_level level;
    uint64_t running;
    uint64_t pending;
    uint64_t parked;
    bool waits; /* something is pending; else oldest_ms is 0 */
    uint64_t oldest_ms;
    uint64_t runs_ok;
    uint64_t runs_failed;
    const struct history_run *last; /* the newest run; NULL = none has ended */
    bool timed;                     /* changes were handled in the last minutes */
    uint64_t p50_ms;                /* from change to handled */
    uint64_t p99_ms;
    struct buf error; /* owned; empty = none */
};

struct page_problem {
    const char *id; /* of docs/doctor.md */
    const char *kind;
    const char *name;
    struct buf text; /* owned */
    struct buf todo; /* owned: what to type or do, each command between two DOCTOR_MARKs */
};

struct page_server {
    const char *cluster;
    const char *url;
    const char *word; /* of its state */
    enum page_level level;
    bool in_use;
    bool tried;        /* else since_ms is 0 */
    uint64_t since_ms; /* for how long it has been in this state */
    struct buf error;  /* owned; why it is not good; empty = it is */
};

/* Of all credentials of one type that a cluster uses, the one that expires first. */
struct page_credential {
    const char *cluster;
    const char *type; /* "ca", "certificate", "token" */
    const char *word; /* "valid", "expires soon", "not valid yet", "expired" */
    enum page_level level;
    int64_t till_s; /* since 1970 */
};

struct page_model {
    const struct admin_model *admin;
    uint64_t now_ms;
    enum page_level level;
    struct buf summary; /* one sentence */
    struct page_watch *watches;
    struct page_hook *hooks;
    struct page_server *servers; /* of all clusters */
    size_t server_count;
    struct page_credential *credentials; /* those that expire */
    size_t credential_count;
    struct page_problem problems[PAGE_PROBLEMS]; /* those that a person has to decide come first */
    size_t problem_count;                        /* also those that are not written out */
};

/* Borrows m until page_model_fini(). */
void page_model_init(struct page_model *p, const struct admin_model *m, uint64_t now_ms);

/* Frees what page_model_init() allocated. */
void page_model_fini(struct page_model *p);

/* "good", "look", "bad": also classes of the style sheet. */
const char *page_model_level_name(enum page_level level);

#endif
