/* SPDX-License-Identifier: Apache-2.0 */
#include "state/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/map.h"
#include "base/mem.h"
#include "state/pack.h"

/* Compacting walks the whole batch, so it waits until the batch has doubled since the last time,
 * and has at least COMPACT_MIN bytes. A cleared batch keeps a buffer of at most KEEP_MAX bytes for
 * the next turn; the buffer of a burst is given back. */
enum { COMPACT_MIN = 1 << 20, KEEP_MAX = 64 << 10 };

/* Stands before the bytes of each operation. Behind it come row_size bytes that say which row the
 * operation is about, then the new values of that row. Operations lie in the buffer without
 * alignment, so a head is always copied in and out (head_at(), set_head()). */
struct head {
    size_t size; /* of head, row and values together */
    size_t row_size;
    struct str body;
    void *hold;
    enum batch_what what;
    bool is_void; /* only while batch_compact() runs */
};

/* An operation makes earlier ones void if they have the same class and the same row. RESET, DROP_ITEM
 * and CLEAR touch several rows, so each has a class of its own: a later change of one of these rows does
 * not make it void for the others. */
static char class_of(enum batch_what what)
{
    static const char classes[] = {
        [BATCH_RESET] = 'r',         [BATCH_ITEM] = 'i',      [BATCH_DROP_ITEM] = 'd',
        [BATCH_FACT] = 'f',          [BATCH_DROP_FACT] = 'f', [BATCH_OBJECT] = 'o',
        [BATCH_DROP_OBJECT] = 'o',   [BATCH_CLEAR] = 'c',     [BATCH_DELIVERY] = 'm',
        [BATCH_DROP_DELIVERY] = 'm',
    };

    return classes[what];
}

/* Begins an operation and returns its position. Its class is the first byte of its row, so that
 * find_void() can compare class and row as one string. */
static size_t begin(struct batch *b, enum batch_what what)
{
    size_t at = b->buf.len;
    const struct head head = {.what = what};

    buf_append(&b->buf, &head, sizeof(head));
    buf_putc(&b->buf, class_of(what));
    return at;
}

static struct head head_at(const struct batch *b, size_t at)
{
    struct head head;

    memcpy(&head, b->buf.data + at, sizeof(head));
    return head;
}

static void set_head(struct batch *b, size_t at, const struct head *head)
{
    memcpy(b->buf.data + at, head, sizeof(*head));
}

/* Ends the bytes that identify the row. The values of the row follow. */
static void end_row(struct batch *b, size_t at)
{
    struct head head = head_at(b, at);

    head.row_size = b->buf.len - at - sizeof(head);
    set_head(b, at, &head);
}

/* Ends the operation. body is not copied: only its address goes into the head. */
static void end(struct batch *b, size_t at, struct str body, void *hold)
{
    struct head head = head_at(b, at);

    head.size = b->buf.len - at;
    head.body = body;
    head.hold = hold;
    set_head(b, at, &head);
    b->count++;
    b->body_bytes += body.n;
}

/* Ends an operation without a body. */
static void end_plain(struct batch *b, size_t at)
{
    end(b, at, str_of(NULL, 0), NULL);
}

static size_t begin_id(struct batch *b, enum batch_what what, uint64_t id)
{
    size_t at = begin(b, what);

    pack_u64(&b->buf, id);
    return at;
}

void batch_reset(struct batch *b)
{
    size_t at = begin(b, BATCH_RESET);

    end_row(b, at);
    end_plain(b, at);
}

void batch_item(struct batch *b, const struct row_item *item)
{
    size_t at = begin_id(b, BATCH_ITEM, item->id);

    end_row(b, at);
    pack_item(&b->buf, item);
    end_plain(b, at);
}

static void add_id(struct batch *b, enum batch_what what, uint64_t id)
{
    size_t at = begin_id(b, what, id);

    end_row(b, at);
    end_plain(b, at);
}

void batch_drop_item(struct batch *b, uint64_t id)
{
    add_id(b, BATCH_DROP_ITEM, id);
}

static size_t begin_fact(struct batch *b, enum batch_what what, const struct row_fact *fact)
{
    size_t at = begin_id(b, what, fact->item);

    pack_u64(&b->buf, fact->what);
    pack_str(&b->buf, fact->key);
    end_row(b, at);
    return at;
}

void batch_fact(struct batch *b, const struct row_fact *fact)
{
    size_t at = begin_fact(b, BATCH_FACT, fact);

    pack_str(&b->buf, fact->value);
    end_plain(b, at);
}

void batch_drop_fact(struct batch *b, uint64_t item, enum row_what what, struct str key)
{
    const struct row_fact fact = {.item = item, .what = what, .key = key};

    end_plain(b, begin_fact(b, BATCH_DROP_FACT, &fact));
}

static size_t begin_object(struct batch *b, enum batch_what what, uint64_t scope, struct str key)
{
    size_t at = begin_id(b, what, scope);

    pack_str(&b->buf, key);
    end_row(b, at);
    return at;
}

void batch_object(struct batch *b, uint64_t scope, const struct row_object *o, void *hold)
{
    size_t at = begin_object(b, BATCH_OBJECT, scope, o->key);

    pack_object(&b->buf, o);
    end(b, at, o->whole ? o->body : str_of(NULL, 0), hold);
}

void batch_drop_object(struct batch *b, uint64_t scope, struct str key)
{
    end_plain(b, begin_object(b, BATCH_DROP_OBJECT, scope, key));
}

void batch_clear_scope(struct batch *b, uint64_t scope)
{
    add_id(b, BATCH_CLEAR, scope);
}

static size_t begin_delivery(struct batch *b, enum batch_what what,
                             const struct row_delivery *delivery)
{
    size_t at = begin_id(b, what, delivery->source);

    pack_str(&b->buf, delivery->key);
    pack_str(&b->buf, delivery->uid);
    end_row(b, at);
    return at;
}

void batch_delivery(struct batch *b, const struct row_delivery *delivery, void *hold)
{
    size_t at = begin_delivery(b, BATCH_DELIVERY, delivery);
    bool has_body = delivery->is_ended && delivery->last.whole;

    /* Only a delivery record of an incarnation that has ended has a last state with a body. */
    pack_delivery(&b->buf, delivery);
    end(b, at, has_body ? delivery->last.body : str_of(NULL, 0), hold);
}

void batch_drop_delivery(struct batch *b, uint64_t source, struct str key, struct str uid)
{
    const struct row_delivery delivery = {.source = source, .key = key, .uid = uid};

    end_plain(b, begin_delivery(b, BATCH_DROP_DELIVERY, &delivery));
}

/* Takes the fields in the order in which the begin_...() and batch_...() functions above packed
 * them. */
static void read_rest(struct pack_reader *r, const struct head *head, struct batch_op *op)
{
    struct row_fact *f = &op->u.fact;
    struct row_object *o = &op->u.object;
    struct row_delivery *m = &op->u.delivery;

    switch (op->what) {
    case BATCH_ITEM:
        pack_take_item(r, &op->u.item);
        break;
    case BATCH_FACT:
    case BATCH_DROP_FACT:
        f->item = op->id;
        f->what = (enum row_what)pack_take_u64(r);
        f->key = pack_take_str(r);
        if (op->what == BATCH_FACT)
            f->value = pack_take_str(r);
        break;
    case BATCH_OBJECT:
    case BATCH_DROP_OBJECT:
        o->key = pack_take_str(r);
        if (op->what == BATCH_DROP_OBJECT)
            break;
        pack_take_object(r, o);
        o->body = head->body;
        break;
    case BATCH_DELIVERY:
    case BATCH_DROP_DELIVERY:
        m->source = op->id;
        m->key = pack_take_str(r);
        m->uid = pack_take_str(r);
        if (op->what == BATCH_DROP_DELIVERY)
            break;
        pack_take_delivery(r, m);
        m->last.body = head->body;
        break;
    case BATCH_RESET:
    case BATCH_DROP_ITEM:
    case BATCH_CLEAR:
        break;
    }
}

bool batch_next(const struct batch *b, size_t *at, struct batch_op *op)
{
    if (*at >= b->buf.len)
        return false;
    struct head head = head_at(b, *at);
    const char *begins = b->buf.data + *at;
    struct pack_reader r = {begins + sizeof(head) + 1, begins + head.size}; /* 1: the class */

    memset(op, 0, sizeof(*op));
    op->what = head.what;
    if (op->what != BATCH_RESET)
        op->id = pack_take_u64(&r);
    read_rest(&r, &head, op);
    *at += head.size;
    return true;
}

void batch_join(struct batch *b, struct batch *later)
{
    buf_append_str(&b->buf, buf_str(&later->buf));
    /* The driver joins batches in each commit. Without this a buffer that a burst made large would
     * stay as large for good. */
    if (later->buf.cap > KEEP_MAX)
        buf_free(&later->buf);
    b->count += later->count;
    b->body_bytes += later->body_bytes;
    buf_clear(&later->buf);
    later->count = 0;
    later->body_bytes = 0;
}

static void let_go(const struct batch *b, const struct head *head)
{
    if (head->hold != NULL && b->release != NULL)
        b->release(head->hold);
}

/* The position of the last operation seen on a row. */
struct last {
    struct map_node node;
    size_t at;
};

/* Sets is_void in the head of each operation that is followed by a later one of the same class and
 * row. */
static void find_void(struct batch *b)
{
    struct last *all = mem_array(b->count + 1, sizeof(*all));
    struct map rows = {0};
    size_t used = 0;

    for (size_t at = 0; at < b->buf.len; at += head_at(b, at).size) {
        struct head head = head_at(b, at);
        struct str row = str_of(b->buf.data + at + sizeof(head), head.row_size);
        struct map_node *node = map_get(&rows, row);

        if (node == NULL) {
            node = &all[used++].node;
            map_put(&rows, node, row);
        } else {
            size_t before = map_entry(node, struct last, node)->at;
            struct head earlier = head_at(b, before);

            earlier.is_void = true;
            set_head(b, before, &earlier);
        }
        map_entry(node, struct last, node)->at = at;
    }
    /* The map links nodes that lie in `all`, so it must be emptied before `all` is freed. */
    while (map_first(&rows) != NULL)
        map_remove(&rows, map_first(&rows));
    free(all);
}

/* Bytes that the batch keeps alive, the bodies included. */
static size_t footprint(const struct batch *b)
{
    return b->buf.len + b->body_bytes;
}

void batch_compact(struct batch *b)
{
    size_t to = 0;

    find_void(b);
    /* The operations that stay move to the front and keep their order. The size is read before the
     * move, as memmove() may overwrite the head at `at`. */
    for (size_t at = 0, size; at < b->buf.len; at += size) {
        struct head head = head_at(b, at);

        size = head.size;
        if (head.is_void) {
            let_go(b, &head);
            b->count--;
            b->body_bytes -= head.body.n;
            continue;
        }
        memmove(b->buf.data + to, b->buf.data + at, size);
        to += size;
    }
    b->buf.len = to;
    /* Compacting only after the batch has doubled makes the cost per operation constant on
     * average. */
    b->compact_from = 2 * footprint(b);
}

void batch_trim(struct batch *b)
{
    if (footprint(b) >= b->compact_from && footprint(b) >= COMPACT_MIN)
        batch_compact(b);
}

void batch_fini(struct batch *b)
{
    batch_clear(b);
    buf_free(&b->buf);
}

void batch_clear(struct batch *b)
{
    for (size_t at = 0; at < b->buf.len; at += head_at(b, at).size) {
        struct head head = head_at(b, at);

        let_go(b, &head);
    }
    if (b->buf.cap > KEEP_MAX)
        buf_free(&b->buf);
    buf_clear(&b->buf);
    b->count = 0;
    b->body_bytes = 0;
    b->compact_from = 0;
}
