/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin - answers the requests of the control socket: from a request and read access to the layers
 * below it makes a response; pure (docs/design.md "Status and control").
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admin/finding.h"
#include "base/buf.h"
#include "base/log_levels.h"
#include "base/str.h"

struct admin_stream;
struct admin_streams;
struct expiry;
struct gone;
struct gone_hook;
struct histogram;
struct hook;
struct hooks;
struct servers;
struct journal;
struct payload_context;
struct view;
struct watch;

/* When the objects of a source have more bytes than this, the answer is 503. Each answer is made
 * whole in memory, and the loop does nothing else meanwhile (about 1 ms per MiB). */
#define ADMIN_OBJECTS_BYTES ((size_t)128 * 1024 * 1024)

/* The credentials for some of the servers of a cluster. */
struct admin_login {
    const char *trouble;         /* why they cannot be read or used; NULL = they can */
    const struct expiry *expiry; /* NULL = nothing is known */
};

struct admin_cluster {
    const char *name;
    const struct servers *servers;
    uint64_t contact_ms; /* when the last bytes of a response came, monotonic; 0 = never */
    const char *trouble; /* a sentence: why its watches do not go on as usual; NULL = they do */
    /* the kubeconfig, which does not exist yet; NULL = it does, or there is none */
    const char *awaits;
    bool is_insecure; /* at least one of its servers is not verified */
    struct admin_login *logins;
    size_t login_count;
};

/* The state in state_dir, which is kept over restarts. */
struct admin_state {
    const char *dir;     /* the setting; NULL = "none" */
    bool kept;           /* there is a state, and this process writes to it */
    const char *trouble; /* why the state cannot be written; NULL = it can, or dir is NULL */
    /* since when it cannot be written, monotonic; 0 = since the start, or it can */
    uint64_t failing_ms;
    size_t waiting; /* changes that are not committed yet */
    uint64_t commits;
};

/* Reloads, without dry runs: the result of the last one, and whether one is under way. */
struct admin_reload {
    const char *result; /* "reloaded", "invalid", "failed"; NULL = there was none */
    bool is_running;
    uint64_t ended_ns;    /* wall clock */
    uint64_t failing_ns;  /* since when reloads have failed; 0 = the last one was good */
    const char *problems; /* lines; NULL or "" = none */
};

/* Figures of this process from /proc, and figures that the loop counts itself. 0 = not known. */
struct admin_process {
    uint64_t cpu_ms; /* user and system */
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t open_fds;
    uint64_t max_fds;
    const struct histogram *turns; /* how long the loop was busy each time; NULL = not known */
    uint64_t busy_ns;              /* all turns together */
};

/* One name of a watch. Watches with equal settings are one struct watch with several names. */
struct admin_watch {
    const char *name;
    struct watch *watch;
};

/* The actions that a privileged peer can ask for. They run inside admin_handle(), which has made
 * sure that the watch does not wait for discovery. */
struct admin_actions {
    /* Lists all scopes of the watch again, at once. */
    void (*relist)(void *arg, struct watch *w);
    /* Starts an audit of the watch, which is synced, without repairs (docs/design.md "Audit");
     * joins an audit that is under way. On return the audit has begun or failed. */
    void (*verify)(void *arg, struct watch *w);
    /* Accepts or rejects the lists that the guard holds (docs/design.md "Guard"). False: the guard
     * holds no list of this watch. */
    bool (*guard)(void *arg, struct watch *w, bool accept);
    /* Manual runs were added: the scheduler is to look for runs that may start, in the next
     * turn. */
    void (*kick)(void *arg);
    /* Pauses the hook (hook_pause()), or resumes it and has the scheduler look for runs that may
     * start. */
    void (*pause)(void *arg, struct hook *h, bool paused);
    /* Sets a level of the log (log_levels_set()), or, with ADMIN_LOG_DEFAULT, ends it. name is NULL
     * with LOG_SUBJECT_ALL, which then ends those of all watches and hooks, too. */
    void (*log_level)(void *arg, enum log_subject subject, const char *name, int level);
    /* Forgets a hook that is not configured any more, and is KEPT; with_files: its files are removed
     * first. False: this process writes nothing. */
    bool (*forget)(void *arg, struct gone_hook *gh, bool with_files);
    /* Orders a reload, or with dry_run its plan. Returns the number that admin_streams_answer() will get
     * with the result. 0: *refusal says why there is none, a constant. */
    uint64_t (*reload)(void *arg, bool dry_run, const char **refusal);
};

enum { ADMIN_LOG_DEFAULT = -1 };

/* All that an answer can show. Everything is borrowed for the call. An answer changes nothing but
 * through actions. */
struct admin_model {
    const char *version;
    uint64_t pid;
    uint64_t started_ns; /* wall clock */
    uint64_t started_ms; /* started_ns on the clock of now_ms */
    uint64_t wall_ns;    /* wall clock now */
    struct admin_state state;
    struct admin_reload reload;
    bool compares_programs; /* it is not known yet which hooks run again for changed programs */
    bool ready;             /* READY=1 was sent: docs/design.md "Readiness" */
    bool stopping; /* informerd makes no requests to API servers any more: POST is refused */
    const struct admin_cluster *clusters;
    size_t cluster_count;
    const struct admin_watch *watches;
    size_t watch_count;
    struct view *const *views;
    size_t view_count;
    const struct hooks *hooks;
    const struct gone *gone; /* hooks that are not configured any more, with their files, or NULL */
    /* limits.pending: a key that waits longer is named in `degraded`; 0 = no limit */
    uint64_t pending_ms;
    uint64_t credential_expiry_ms;         /* limits.credential_expiry */
    uint64_t memory_limit;                 /* limits.memory; 0 = none */
    bool hides_keys;                       /* sentences name no objects: the peer may be anybody */
    const struct payload_context *context; /* node and instance, as runs get them */
    const struct journal *journal;
    struct admin_streams *streams;
    const struct log_levels *log_levels; /* as they are now */
    enum log_level log_configured;       /* the level of the configuration or the command line */
    const struct admin_actions *actions; /* may be NULL if no POST is handled */
    /* Calls cb for the findings that need a look at this machine, as far as informerd may look (GET
     * /v1/doctor). NULL = there are none. */
    void (*inspect)(void *arg, finding_cb *cb, void *cb_arg);
    /* Fills *out for GET /metrics. NULL = nothing is known. */
    void (*measure)(void *arg, struct admin_process *out);
    const char *textfile_trouble; /* why metrics.textfile cannot be written; NULL = it can */
    uint64_t config_digest;       /* of the configuration in use, with all defaults */
    void *arg;                    /* for actions, inspect and measure */
};

/* Borrowed for the call. */
struct admin_request {
    struct str method;
    struct str target; /* path and query as they came */
    struct str host;   /* of the Host header, in lower case; empty = there was none */
    /* the peer is root or the user that informerd was started as: it may see Secrets and may act */
    bool privileged;
    /* it came over TCP, so nothing is known of the peer: no path below /v1 is answered */
    bool anonymous;
};

struct admin_response {
    int status;
    const char *content_type; /* constant */
    const char *headers;      /* more header lines, each with its CRLF, constant; NULL = none */
    struct buf body;          /* the caller's, to be freed */
    /* Not NULL: the answer is a stream without Content-Length. The caller pulls its lines from here
     * (admin/stream.h), owns it and destroys it; body is empty. */
    struct admin_stream *stream;
};

/* Answers GET and HEAD of /livez, /readyz, /healthz (admin/health), /metrics (admin/metrics), and / with
 * /page.{json,css,js,svg} (admin/page). Answers GET of /v1/status, /v1/watches, /v1/watches/NAME/verify,
 * /v1/sources/NAME/{objects[/KEY],stream}, /v1/hooks, /v1/runs, /v1/events[/follow], /v1/doctor,
 * /v1/hooks/NAME/{runs,why[/KEY],input[/KEY],order/N,forget}, /v1/wait/{synced,ready,idle}[/follow],
 * /v1/log-level. Answers POST, for privileged peers only, of /v1/reload[/dry-run], /v1/pause, /v1/resume,
 * /v1/watches/NAME/{relist,verify,guard/accept,guard/reject}, /v1/log-level/LEVEL[/{watch,hook}/NAME] and
 * /v1/hooks/NAME/{run[/KEY],pause,resume,forget[/files]}; the bodies of POST requests are ignored. The
 * path is percent-decoded; only admin/health looks at the query. Any other request gets 400, 403, 404,
 * 405, 409 (the state of the watch or hook does not allow it now) or 503, with {"error": TEXT}. *out is
 * overwritten. */
void admin_handle(const struct admin_model *m, const struct admin_request *req, uint64_t now_ms,
                  struct admin_response *out);

/* Makes *out an answer with an error status: {"error": text}. *out is overwritten. */
void admin_refuse(struct admin_response *out, int status, const char *text);

#endif
