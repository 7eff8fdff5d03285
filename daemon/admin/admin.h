/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin - what the control socket answers: a request and read access to the layers below give a
 * response; pure (DESIGN 1.7).
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct hooks;
struct watch;

/* Objects of more bytes than this are not put into one answer: each answer is made whole in memory,
 * and the loop does nothing else meanwhile (about 1 ms per MiB). */
#define ADMIN_OBJECTS_BYTES ((size_t)128 * 1024 * 1024)

struct admin_cluster {
    const char *name;
    const char *server;  /* URL */
    uint64_t contact_ms; /* when a part of a response came last, monotonic; 0 = never */
};

/* Everything is borrowed for the call and stays unchanged during it. */
struct admin_model {
    const char *version;
    uint64_t pid;
    uint64_t started_ns; /* wall clock */
    uint64_t started_ms; /* the same moment on the clock of now_ms */
    bool ready;          /* READY=1 was said: DESIGN 1.6 */
    const struct admin_cluster *clusters;
    size_t cluster_count;
    struct watch *const *watches;
    size_t watch_count;
    const struct hooks *hooks;
};

/* Borrowed for the call. */
struct admin_request {
    struct str method;
    struct str target; /* path and query as they came */
    bool privileged;   /* root, or the uid that informerd was started as: may see Secrets */
};

struct admin_response {
    int status;
    const char *content_type; /* constant */
    struct buf body;          /* the caller's, to be freed */
};

/* Answers GET of /livez, /readyz, /v1/status, /v1/watches, /v1/watches/NAME/objects[/KEY] and
 * /v1/hooks; the path is percent-decoded, the query ignored. Anything else is 400, 403, 404, 405 or
 * 503 with {"error": TEXT}. *out is overwritten. */
void admin_handle(const struct admin_model *m, const struct admin_request *req, uint64_t now_ms,
                  struct admin_response *out);

/* Makes *out the answer to a request that went wrong: {"error": text}. *out is overwritten. */
void admin_refuse(struct admin_response *out, int status, const char *text);

#endif
