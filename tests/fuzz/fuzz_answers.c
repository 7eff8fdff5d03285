/* SPDX-License-Identifier: Apache-2.0 */
/* Small answers of servers: to a question about access, to the identity request, the Warning headers; and a
 * bearer token, the name of a resource, a time and kept identities. Each is refused or bounded, and identities read
 * back as they were. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "fuzz_input.h"
#include "kube/access_review.h"
#include "kube/cluster_identity.h"
#include "kube/resource.h"
#include "kube/token.h"
#include "kube/warnings.h"

static void check_identity(const struct cluster_identity *id)
{
    struct cluster_identity again;
    struct buf text = {0};

    for (const char *p = id->uid; *p != '\0'; p++)
        ensure(*p > ' ' && *p <= '~');
    cluster_identity_put(id, &text);
    cluster_identity_parse(buf_str(&text), &again);
    ensure(strcmp(id->uid, again.uid) == 0 && id->authorities.n == again.authorities.n);
    if (id->uid[0] != '\0')
        ensure(cluster_identity_compare(id, &again) == CLUSTER_IDENTITY_SAME);
    buf_free(&text);
}

static void read_identity(struct str in)
{
    struct cluster_identity_answer answer = {0};
    struct cluster_identity id;

    if (cluster_identity_read(in, &answer, NULL) == ERR_OK)
        check_identity(&answer.id);
    cluster_identity_parse(in, &id);
    check_identity(&id);
}

static void read_review(struct str in)
{
    struct access_answer answer = {0};
    struct err err = {0};

    if (access_review_read(in, &answer, &err) == ERR_OK)
        ensure(strnlen(answer.why, sizeof(answer.why)) < sizeof(answer.why));
    else
        fuzz_check_line(err.text);
}

static void read_token(struct str in)
{
    int64_t issued = 0;
    int64_t expires = 0;
    char *subject = token_subject(in);

    ensure(subject == NULL || subject[0] != '\0');
    if (token_dates(in, &issued, &expires))
        ensure(expires > 0 && issued >= 0);
    free(subject);
}

static void read_warnings(struct str lines)
{
    struct warnings w = {0};
    struct buf text = {0};
    size_t count = 0;

    while (warnings_next(&w, &lines, &text)) {
        ensure(text.len > 0);
        count++;
        buf_clear(&text);
    }
    ensure(count <= WARNINGS_MAX && w.n == count);
    buf_free(&text);
}

static void read_resource(struct str in)
{
    char *text = mem_strndup(in.p, in.n);
    struct resource r;
    struct err err = {0};

    if (resource_parse(text, &r, &err) == ERR_OK)
        resource_fini(&r);
    else
        ensure(err.kind == ERR_CONFIG && err.text[0] != '\0');
    free(text);
}

static void read_time(struct str in)
{
    int64_t ms;

    if (rfc3339_read(in, &ms))
        ensure(in.n >= strlen("2026-01-31T00:00:00Z"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);

    read_identity(in);
    read_review(in);
    read_token(in);
    read_warnings(in);
    read_resource(in);
    read_time(in);
    return 0;
}
