/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credentials.h"

#include "base/panic.h"

/* Files are read so often even if no change was seen: some file systems report none. client-go has
 * the same 5 minutes for certificates and CAs, and 50 s for tokens, because these live for 10
 * minutes and kubelets renew them at 80 % of that
 * (docs/kubernetes-protocol.md "Bearer tokens", "Certificates and CAs"). */
enum { CHECK_MS = 5 * 60 * 1000, TOKEN_CHECK_MS = 50 * 1000 };

/* If the expiry is known, files are read ten times in the time that is left; but not more often than
 * this, as the time of day may be wrong. */
enum { EXPIRY_PARTS = 10, EXPIRY_MIN_MS = 10 * 1000 };

/* A program runs when a fifth of the lifetime is left, but not earlier than 5 minutes before the end.
 * In that time several runs may fail, each after a minute at most
 * (docs/decisions.md "An exec plugin runs five minutes before the expiry"). */
enum { LIFE_PARTS = 5, EARLY_MS = 5 * 60 * 1000 };

/* Certificate and key are often replaced by two commands. */
enum { DOUBT_MS = 5 * 1000 };

/* After so long a time without a replacement the next 401 has the source read at once again. */
enum { CALM_MS = 2 * 60 * 1000 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool can_change(const struct credentials_one *one)
{
    return one->how == CREDENTIALS_FILES || one->how == CREDENTIALS_PROGRAM;
}

void credentials_init(struct credentials *c, const struct credentials_params *params,
                      uint64_t now_ms)
{
    *c = (struct credentials){.retry = params->retry};
    rng_seed(&c->rng, params->seed);
    for (int i = 0; i < CREDENTIALS_SOURCES; i++)
        c->of[i] = (struct credentials_one){
            .how = params->how[i],
            .has_stand_in = params->has_stand_in[i],
            .due_ms = params->how[i] != CREDENTIALS_NONE ? now_ms : UINT64_MAX,
        };
}

void credentials_changed(struct credentials *c, enum credentials_source source, uint64_t now_ms)
{
    struct credentials_one *one = &c->of[source];

    if (!can_change(one))
        return;
    if (one->turn == CREDENTIALS_WAITING)
        one->due_ms = least(one->due_ms, now_ms);
    else
        one->turn = CREDENTIALS_OVERTAKEN;
}

void credentials_refused(struct credentials *c, uint64_t now_ms)
{
    for (int i = 0; i < CREDENTIALS_SOURCES; i++) {
        struct credentials_one *one = &c->of[i];
        bool fails = one->how == CREDENTIALS_PROGRAM && one->state != CREDENTIALS_USED;

        if (i != CREDENTIALS_CA && can_change(one) && !fails)
            one->due_ms = least(one->due_ms, most(now_ms, one->calm_ms));
    }
}

bool credentials_take(struct credentials *c, uint64_t now_ms, enum credentials_source *source)
{
    for (int i = 0; i < CREDENTIALS_SOURCES; i++) {
        struct credentials_one *one = &c->of[i];

        if (one->turn != CREDENTIALS_WAITING || one->due_ms > now_ms)
            continue;
        one->turn = CREDENTIALS_READING;
        *source = (enum credentials_source)i;
        return true;
    }
    return false;
}

uint64_t credentials_next_ms(const struct credentials *c, enum credentials_source source)
{
    return c->of[source].turn == CREDENTIALS_WAITING ? c->of[source].due_ms : UINT64_MAX;
}

uint64_t credentials_due_ms(const struct credentials *c)
{
    uint64_t due_ms = UINT64_MAX;

    for (enum credentials_source s = CREDENTIALS_CA; s < CREDENTIALS_SOURCES; s++)
        due_ms = least(due_ms, credentials_next_ms(c, s));
    return due_ms;
}

/* Some programs give the same credential until its very end. So the last run comes at the end, and a
 * credential that is over is no reason for runs without a pause: the time of day may be wrong. */
static uint64_t next_run_ms(uint64_t left_ms)
{
    if (left_ms == 0)
        return EXPIRY_MIN_MS;
    return most(left_ms - least(left_ms / LIFE_PARTS, EARLY_MS), least(left_ms, EXPIRY_MIN_MS));
}

/* How long until a source that was read well is read again. */
static uint64_t next_check_ms(const struct credentials_one *one, enum credentials_source source,
                              const struct credentials_reading *r)
{
    uint64_t left_ms = r->expires_s > r->wall_s ? (r->expires_s - r->wall_s) * 1000 : 0;
    uint64_t part_ms = left_ms / EXPIRY_PARTS;

    if (!can_change(one) || (one->how == CREDENTIALS_PROGRAM && r->expires_s == 0))
        return UINT64_MAX;
    if (one->how == CREDENTIALS_PROGRAM)
        return next_run_ms(left_ms);
    if (r->expires_s == 0)
        return source == CREDENTIALS_TOKEN ? TOKEN_CHECK_MS : CHECK_MS;
    return least(most(part_ms, EXPIRY_MIN_MS), CHECK_MS);
}

/* A 401 must not have credentials read, replaced and sent again without a pause, nor a program run
 * that has no others. */
static void calm_down(struct credentials *c, struct credentials_one *one, uint64_t now_ms)
{
    if (now_ms > one->calm_ms + CALM_MS)
        backoff_reset(&one->calm);
    if (one->state != CREDENTIALS_LACKING)
        one->calm_ms = now_ms + backoff_step(&one->calm, &c->retry, &c->rng);
}

bool credentials_has(const struct credentials *c, enum credentials_source source,
                     struct digest digest)
{
    const struct credentials_one *one = &c->of[source];

    return one->state >= CREDENTIALS_USED && digest_eq(one->used, digest);
}

static enum credentials_verdict accept(struct credentials *c, enum credentials_source source,
                                       struct digest digest, uint64_t now_ms, bool *is_news)
{
    struct credentials_one *one = &c->of[source];
    bool is_same = credentials_has(c, source, digest);

    *is_news = one->state == CREDENTIALS_OLD || one->state == CREDENTIALS_STANDING_IN;
    if (!is_same || one->how == CREDENTIALS_PROGRAM)
        calm_down(c, one, now_ms);
    one->used = digest;
    one->state = CREDENTIALS_USED;
    return is_same ? CREDENTIALS_SAME : CREDENTIALS_USE;
}

static enum credentials_verdict reject(struct credentials_one *one, uint64_t now_ms, bool *is_news)
{
    *is_news = false;
    switch (one->state) {
    case CREDENTIALS_LACKING:
        *is_news = true;
        if (!one->has_stand_in)
            return CREDENTIALS_LACK;
        one->state = CREDENTIALS_STANDING_IN;
        return CREDENTIALS_STAND_IN;
    case CREDENTIALS_USED:
        if (one->how == CREDENTIALS_PROGRAM) {
            one->state = CREDENTIALS_OLD;
            *is_news = true;
            break;
        }
        one->state = CREDENTIALS_DOUBTED;
        one->doubted_ms = now_ms;
        break;
    case CREDENTIALS_DOUBTED:
        if (now_ms - one->doubted_ms < DOUBT_MS)
            break;
        one->state = CREDENTIALS_OLD;
        *is_news = true;
        break;
    case CREDENTIALS_STANDING_IN:
    case CREDENTIALS_OLD:
        break;
    }
    return CREDENTIALS_KEEP;
}

enum credentials_verdict credentials_judge(struct credentials *c, enum credentials_source source,
                                           const struct credentials_reading *r, uint64_t now_ms,
                                           bool *is_news)
{
    struct credentials_one *one = &c->of[source];
    bool is_overtaken = one->turn == CREDENTIALS_OVERTAKEN;
    enum credentials_verdict verdict;
    uint64_t pause_ms;

    ensure(one->turn != CREDENTIALS_WAITING);
    one->turn = CREDENTIALS_WAITING;
    if (r->is_good) {
        verdict = accept(c, source, r->digest, now_ms, is_news);
        backoff_reset(&one->retry);
        pause_ms = next_check_ms(one, source, r);
    } else {
        verdict = reject(one, now_ms, is_news);
        pause_ms = backoff_step(&one->retry, &c->retry, &c->rng);
        if (one->state == CREDENTIALS_DOUBTED)
            pause_ms = least(pause_ms, one->doubted_ms + DOUBT_MS - now_ms);
    }
    if (is_overtaken)
        pause_ms = 0;
    one->due_ms = pause_ms == UINT64_MAX ? UINT64_MAX : now_ms + pause_ms;
    return verdict;
}

bool credentials_are_usable(const struct credentials *c)
{
    for (int i = 0; i < CREDENTIALS_SOURCES; i++)
        if (c->of[i].how != CREDENTIALS_NONE && c->of[i].state == CREDENTIALS_LACKING)
            return false;
    return true;
}
