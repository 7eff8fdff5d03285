/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/version.h"

#include "proto/json_in.h"

/* Digits that are read of a number, so that it cannot overflow. */
enum { DIGITS = 4 };

struct scan {
    unsigned *into; /* where the next value goes; NULL = it does not count */
    unsigned major;
    unsigned minor;
    bool has_major;
    bool has_minor;
};

/* Cloud providers append to the minor version, as in "34+". */
static bool read_number(struct str text, unsigned *out)
{
    size_t n = 0;

    *out = 0;
    while (n < text.n && n < DIGITS && text.p[n] >= '0' && text.p[n] <= '9')
        *out = *out * 10 + (unsigned)(text.p[n++] - '0');
    return n > 0;
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct scan *s = arg;

    if (t->depth != 1)
        return true;
    if (t->type == JSON_KEY) {
        s->into = str_is(t->text, "major")   ? &s->major
                  : str_is(t->text, "minor") ? &s->minor
                                             : NULL;
        return true;
    }
    if (t->type != JSON_STRING || s->into == NULL)
        return true;
    if (s->into == &s->major)
        s->has_major = read_number(t->text, &s->major);
    else
        s->has_minor = read_number(t->text, &s->minor);
    return true;
}

bool version_parse(struct str body, struct version *out)
{
    struct scan s = {0};

    if (json_in_scan(body, on_token, &s, NULL) != ERR_OK || !s.has_major || !s.has_minor)
        return false;
    *out = (struct version){s.major, s.minor};
    return true;
}
