/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - one feed's connection to the simulated servers; stands where io/list_watch_driver stands in the
 * daemon: carries out the feed's actions and hands it heads, bytes and ends.
 */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/list_watch.h"
#include "sim/net.h"

enum stream_state {
    STREAM_WAITING,     /* as the feed wants it */
    STREAM_ASKED,       /* the request is on its way */
    STREAM_IDENTIFYING, /* the question about the list is */
    STREAM_FRESHENING,  /* the server waits until it is as new as it is asked to be */
    STREAM_BODY,        /* an answer of some length comes in pieces */
    STREAM_WATCHING,
    STREAM_STALLED, /* nothing will come any more */
};

/* What a server knows of a watch. */
struct serving {
    size_t next;          /* event of the history to look at */
    uint64_t after;       /* events up to this version are not sent */
    uint64_t sent;        /* version told last */
    uint64_t ends_ms;     /* as the client asked for */
    uint64_t bookmark_ms; /* UINT64_MAX = none */
    uint64_t initial_ms;  /* when the end of the initial events may be told; UINT64_MAX = it was,
                             or they were not asked for */
    uint64_t doom_ms;     /* when that happens, UINT64_MAX = never: */
    enum fault doom;
};

struct stream {
    struct list link;
    struct net *net;
    struct list_watch *list_watch;
    struct lens lens;
    enum stream_state state;
    struct alarm alarm;
    struct alarm silence;            /* looks whether the response is too silent */
    struct list_watch_action action; /* the one under way; its target is copied */
    char target[512];
    struct server *server;   /* that was asked; NULL = none */
    struct server *last;     /* that was asked before; NULL = none */
    uint64_t process;        /* of the server that the connection is to; 0 = there is none */
    uint64_t told_by;        /* the process that the last request went to, .. */
    uint64_t told_ms;        /* .. and when that ended */
    bool resumes;            /* it resumed a TLS session */
    bool vouched;            /* the server said on it which cluster it is */
    size_t listed_by;        /* the number of the server that has listed, .. */
    uint64_t listed_process; /* .. and of its process */
    uint64_t need_rv;        /* FRESHENING */
    uint64_t patience_ms;    /* FRESHENING: till then */
    uint64_t gone_token;     /* continue token that was answered by 410; 0 = none */
    struct buf body;         /* bytes that the network still holds */
    bool cut;                /* BODY: it will end too early */
    struct serving serving;
    unsigned hung;         /* streams in a row that heard nothing from their server */
    bool marking;          /* a bookmark is in the body, or was */
    bool muted;            /* STALLED, and it was an established watch */
    bool marked;           /* the feed has seen one on this stream, as a watch */
    bool resumed;          /* it began with the version of an earlier life */
    bool listed;           /* it did so */
    bool excused;          /* and something has happened that may make it list */
    struct stream *beside; /* of the daemon's streams: for lists beside it; WAITING = none */
    struct stream *of;     /* it is that of this one; NULL = it is one of the daemon's */
    uint64_t heard_ms;
    uint64_t window_ms; /* since then so many requests, further pages left out: */
    uint64_t window_requests;
    void (*on_progress)(void *arg);
    void *arg;
};

/* Starts the feed; net, feed, lens, on_progress and arg are set, the rest is zero. resumes: it can go
 * on from a version of an earlier life. */
void stream_start(struct stream *s, bool resumes);

/* Releases what it holds. */
void stream_fini(struct stream *s);

/* Carries out what was ordered of the feed. */
void stream_poke(struct stream *s);

/* Is the feed up to date with etcd, on a stream that will tell it more? */
bool stream_is_current(const struct stream *s);

/* Its server has moved on. */
void stream_wake(struct stream *s);

/* Its connection breaks, or ends as if all were well. */
void stream_lose(struct stream *s);

/* Nothing comes through any more. */
void stream_hang(struct stream *s);

/* Counts a fault that may make it list, however good its version is. */
void stream_blame(struct stream *s, enum fault fault);

/* The same for all streams. */
void stream_blame_all(struct net *n, enum fault fault);

/* For serve.c: as net_strikes(), for such a fault. */
bool stream_strikes(struct stream *s, enum fault fault);

/* For serve.c: the head of the response has come. */
void stream_head(struct stream *s, int status, int64_t retry_after_s, const char *type);

/* For serve.c: what is in body is the answer, with this status. */
void stream_answer(struct stream *s, int status);

/* For serve.c: the version may be one of the future, by the revision that the server has told. */
void stream_doubt(struct stream *s);

/* For serve.c: the request is over without an answer. */
void stream_fail(struct stream *s, enum err_kind kind);

#endif
