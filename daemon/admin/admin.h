/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin - what the control socket answers: a request and read access to the layers below give a
 * response; pure (docs/design.md "Status and control").
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct admin_stream;
struct admin_streams;
struct hook;
struct hooks;
struct journal;
struct payload_context;
struct view;
struct watch;

/* Objects of more bytes than this are not put into one answer: each answer is made whole in memory,
 * and the loop does nothing else meanwhile (about 1 ms per MiB). */
#define ADMIN_OBJECTS_BYTES ((size_t)128 * 1024 * 1024)

struct admin_cluster {
    const char *name;
    const char *server;  /* URL */
    uint64_t contact_ms; /* when a part of a response came last, monotonic; 0 = never */
    const char *trouble; /* with its name: why it is not followed as it was; NULL = nothing */
};

/* What is kept over restarts. */
struct admin_state {
    const char *dir;     /* the setting; NULL = "none" */
    bool kept;           /* it is there, and this process keeps what it learns in it */
    const char *trouble; /* why it cannot be written; NULL = it can, or need not be */
    uint64_t failing_ms; /* since when; 0 = from the start, or it is not */
    size_t waiting;      /* changes that are not in it yet */
    uint64_t commits;
};

/* Several names may stand for one watch: equal watches share their streams. */
struct admin_watch {
    const char *name;
    struct watch *watch;
};

/* What a privileged peer can have done. They run inside admin_handle(), which has made sure that
 * the watch waits for no discovery. */
struct admin_actions {
    /* Has all streams of the watch list anew at once. */
    void (*relist)(void *arg, struct watch *w);
    /* Compares the watch, which is synced, with the server and changes nothing; joins a comparison
     * that is under way. The watch's audit has begun or failed on return. */
    void (*verify)(void *arg, struct watch *w);
    /* A person decides about the lists that the guard holds. False: none is held. */
    bool (*guard)(void *arg, struct watch *w, bool accept);
    /* Runs were ordered: has the schedule looked at soon. */
    void (*kick)(void *arg);
    /* Pauses the hook (hook_pause()), or lets it go on and has the schedule looked at. */
    void (*pause)(void *arg, struct hook *h, bool paused);
};

/* Everything is borrowed for the call; only actions change what it shows. */
/* A file that a hook wrote, and that stays though nothing names it any more. */
struct admin_left_file {
    char *hook;
    char *file;
    const char *because; /* constant */
};

struct admin_model {
    const char *version;
    uint64_t pid;
    uint64_t started_ns; /* wall clock */
    uint64_t started_ms; /* the same moment on the clock of now_ms */
    uint64_t wall_ns;    /* wall clock now */
    struct admin_state state;
    bool ready;    /* READY=1 was sent: docs/design.md "Readiness" */
    bool stopping; /* no server is asked any more: POST is refused */
    const struct admin_cluster *clusters;
    size_t cluster_count;
    const struct admin_watch *watches;
    size_t watch_count;
    struct view *const *views;
    size_t view_count;
    const struct hooks *hooks;
    const struct admin_left_file *gone; /* files of hooks that are not configured any more */
    size_t gone_count;
    uint64_t pending_ms; /* limits.pending: a key that waits longer is degraded; 0 = no limit */
    const struct payload_context *context; /* what runs are told */
    const struct journal *journal;
    struct admin_streams *streams;
    const struct admin_actions *actions; /* needed for POST alone */
    void *arg;                           /* for them */
};

/* Borrowed for the call. */
struct admin_request {
    struct str method;
    struct str target; /* path and query as they came */
    bool privileged;   /* root, or the uid that informerd was started as: sees Secrets, may act */
};

struct admin_response {
    int status;
    const char *content_type; /* constant */
    struct buf body;          /* the caller's, to be freed */
    /* Not NULL: the answer has no body and no end, its lines are pulled from here (admin/stream.h).
     * The caller's, to be destroyed. */
    struct admin_stream *stream;
};

/* Answers GET of /livez, /readyz, /v1/status, /v1/watches, /v1/watches/NAME/verify,
 * /v1/sources/NAME/{objects[/KEY],stream}, /v1/hooks, /v1/runs,
 * /v1/hooks/NAME/{runs,why[/KEY],input[/KEY],order}, /v1/events and /v1/events/follow, and to the
 * privileged POST of /v1/watches/NAME/{relist,verify,guard/accept,guard/reject}, /v1/pause,
 * /v1/resume and /v1/hooks/NAME/{run[/KEY],pause,resume}, whose bodies mean nothing. The path is
 * percent-decoded, the query ignored. Anything else is 400, 403, 404, 405, 409 (not as things
 * stand) or 503 with {"error": TEXT}. *out is overwritten. */
void admin_handle(const struct admin_model *m, const struct admin_request *req, uint64_t now_ms,
                  struct admin_response *out);

/* Makes *out the answer to a request that went wrong: {"error": text}. *out is overwritten. */
void admin_refuse(struct admin_response *out, int status, const char *text);

#endif
