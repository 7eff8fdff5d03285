/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - the connection of one list_watch to the simulated servers; stands where
 * io/list_watch_driver stands in the daemon: carries out the actions of the list_watch, and hands
 * it the head, the bytes and the end of each response.
 */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/list_watch.h"
#include "sim/net.h"

enum stream_state {
    STREAM_WAITING,     /* for the time that the list_watch has named */
    STREAM_ASKED,       /* the request is on its way */
    STREAM_IDENTIFYING, /* the question which cluster has sent the list is on its way */
    STREAM_FRESHENING,  /* the server waits until its cache has the version that is asked for */
    STREAM_BODY,        /* a response of some length comes in pieces */
    STREAM_WATCHING,
    STREAM_STALLED, /* no byte will come any more */
};

/* The server's side of a watch. */
struct serving {
    size_t next;          /* the event of the history to look at next */
    uint64_t after;       /* events up to this version are not sent */
    uint64_t sent;        /* the version that was sent last */
    uint64_t ends_ms;     /* the client has asked for this end */
    uint64_t bookmark_ms; /* UINT64_MAX = none */
    /* When the bookmark that ends the initial events may be sent; UINT64_MAX = it was sent, or
     * initial events were not asked for. */
    uint64_t initial_ms;
    uint64_t doom_ms; /* when the fault doom happens; UINT64_MAX = never */
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
    struct list_watch_action action; /* under way; its target is copied */
    char target[512];
    struct server *server;   /* the server of this request; NULL = none */
    struct server *last;     /* the server of the request before; NULL = none */
    uint64_t process;        /* the process that the connection goes to; 0 = no connection */
    uint64_t told_by;        /* the process that the last request went to */
    uint64_t told_ms;        /* when the last request ended */
    bool resumes;            /* the connection resumed a TLS session */
    bool identified;         /* the server has said on this connection which cluster it is */
    size_t listed_by;        /* the number of the server that has sent the list */
    uint64_t listed_process; /* the process of that server */
    uint64_t need_rv;        /* FRESHENING: the version that is waited for */
    uint64_t patience_ms;    /* FRESHENING: until then */
    uint64_t gone_token;     /* the continue token that was answered by 410; 0 = none */
    struct buf body;         /* bytes that the network still holds */
    bool cut;                /* BODY: the body will end too early */
    struct serving serving;
    unsigned hung;         /* so many watches in a row got nothing from their server */
    bool marking;          /* a bookmark is in the body, or was */
    bool muted;            /* STALLED, and it was an established watch */
    bool marked;           /* the list_watch has got a bookmark of this watch */
    bool resumed;          /* the scope began with the version of an earlier process */
    bool listed;           /* the scope has asked for a list */
    bool excused;          /* a fault has happened after which a resumed scope may list */
    struct stream *beside; /* for lists beside the watch of this stream; WAITING = none */
    struct stream *of;     /* the stream whose beside this one is; NULL = it is no such stream */
    struct stream *second; /* for a watch that is to take the place of this one; WAITING = none */
    struct stream *renews; /* the stream whose second this one is; NULL = it is no such stream */
    struct alarm trial;    /* of a second stream: when its trial is over */
    uint64_t stalled_ms;   /* STALLED: until then */
    uint64_t renewed_rv;   /* the version that the scope had when this watch was renewed */
    unsigned lists;        /* that the scope has asked for */
    uint64_t heard_ms;
    uint64_t window_ms; /* window_requests counts from then, without further pages of lists */
    uint64_t window_requests;
    void (*on_progress)(void *arg);
    void *arg;
};

/* Starts the list_watch; net, list_watch, lens, on_progress and arg are set, the rest is zero.
 * resumes: it can go on from a version of an earlier process. */
void stream_start(struct stream *s, bool resumes);

/* Releases all that the stream holds. */
void stream_fini(struct stream *s);

/* Gives back the room that bytes on the way have once needed. */
void stream_trim(struct stream *s);

/* Carries out the request of a person for the list_watch. */
void stream_poke(struct stream *s);

/* The credentials have changed: has the watch renewed, if it is one that can be. */
void stream_renew(struct stream *s);

/* Is the list_watch up to date with etcd, on a watch that goes on? */
bool stream_is_current(const struct stream *s);

/* The version of its server has moved. */
void stream_wake(struct stream *s);

/* The connection breaks, or the response ends as if it were complete. */
void stream_lose(struct stream *s);

/* No byte comes through any more. */
void stream_hang(struct stream *s);

/* Counts a fault after which the scope may list, however good its version is. */
void stream_blame(struct stream *s, enum fault fault);

/* Counts such a fault for all streams. */
void stream_blame_all(struct net *n, enum fault fault);

/* For sim/serve: as net_strikes(), for such a fault. */
bool stream_strikes(struct stream *s, enum fault fault);

/* For sim/serve: the head of the response has come. */
void stream_head(struct stream *s, int status, int64_t retry_after_s, const char *type);

/* For sim/serve: the body is complete, and is sent with this status. */
void stream_answer(struct stream *s, int status);

/* For sim/serve: by the revision that the server has named, the version of the scope may be one of
 * the future. */
void stream_doubt(struct stream *s);

/* For sim/serve: the request ends without a response. */
void stream_fail(struct stream *s, enum err_kind kind);

#endif
