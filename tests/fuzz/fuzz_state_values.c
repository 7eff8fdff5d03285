/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the value of each kind of fact in the state: a value that is read is the one that would be written
 * for it. */
#include "fuzz_input.h"
#include "persist/contact.h"
#include "persist/row.h"

static void check(struct str text, const struct buf *again)
{
    ensure(str_eq(text, buf_str(again)));
}

static void read_version(struct str text, struct buf *again)
{
    struct persist_version v;

    if (!persist_row_version(text, &v))
        return;
    persist_row_put_version(again, &v);
    /* A value that was cut off behind a line has the other lines empty. */
    struct persist_version second;
    ensure(persist_row_version(buf_str(again), &second));
    ensure(str_eq(v.rv, second.rv) && str_eq(v.collection_rv, second.collection_rv));
    ensure(digest_eq(v.settings, second.settings));
}

static void read_skip(struct str text, struct buf *again)
{
    struct skip s = {0};
    struct skip second = {0};

    if (!persist_row_skip(text, &s))
        return;
    persist_row_put_skip(again, &s);
    ensure(persist_row_skip(buf_str(again), &second));
    ensure(s.times > 0 && s.times == second.times && s.missing == second.missing);
    ensure(str_eq(s.why, second.why) && str_eq(s.name, second.name));
}

static void read_file(struct str text, struct buf *again)
{
    struct files_seen seen = {0};
    struct files_seen second = {0};
    struct str source;
    struct str same;

    if (!persist_row_file(text, &seen, &source))
        return;
    persist_row_put_file(again, &seen, source);
    ensure(persist_row_file(buf_str(again), &second, &same));
    ensure(str_eq(source, same) && str_eq(seen.key, second.key));
    ensure(digest_eq(seen.digest, second.digest));
}

static void read_digest(struct str text, struct buf *again)
{
    struct digest d;

    if (persist_row_digest(text, &d)) {
        persist_row_put_digest(again, d);
        check(text, again);
    }
    (void)!persist_row_digest_beside(text, (struct digest){0}, &d);
}

static void read_contact(struct str text, struct buf *again)
{
    struct contact c = contact_read(text);
    uint64_t age;

    contact_put(again, &c);
    struct contact second = contact_read(buf_str(again));
    ensure(c.wall_ns == second.wall_ns);
    /* The kernel's id of a boot has no NUL and no space at its front. */
    if (c.boot_id.n > 0 && memchr(c.boot_id.p, '\0', c.boot_id.n) == NULL && c.boot_id.p[0] != ' ')
        ensure(str_eq(c.boot_id, second.boot_id) && c.boot_ns == second.boot_ns);
    (void)!contact_age(&c, &(struct contact){.wall_ns = 1, .boot_ns = 1, .boot_id = c.boot_id},
                       &age);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const readers[])(struct str text, struct buf * again) = {
        read_version, read_skip, read_file, read_digest, read_contact};
    struct buf again = {0};

    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        buf_clear(&again);
        readers[i](str_of((const char *)data, n), &again);
    }
    buf_free(&again);
    return 0;
}
