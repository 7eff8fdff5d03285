/* SPDX-License-Identifier: Apache-2.0 */
#include "io/pool.h"

#include <stddef.h>

#include "io/conn.h"

/* The server sent bytes that no request asked for. The next response could not be told from them,
 * so the connection is of no use. */
static void on_data(void *arg, const char *data, size_t n)
{
    struct pool_slot *slot = arg;

    (void)data;
    (void)n;
    conn_dispose(&slot->conn);
}

/* The server, or the network, ended the connection while it was idle: nobody needs to know. */
static void on_closed(void *arg, const struct err *err)
{
    struct pool_slot *slot = arg;

    (void)err;
    conn_dispose(&slot->conn);
}

/* A free slot; if all are taken, the one whose connection has been idle for longest. */
static struct pool_slot *slot_to_fill(struct pool *p)
{
    struct pool_slot *best = &p->slots[0];

    for (int i = 0; i < POOL_MAX_IDLE; i++) {
        if (p->slots[i].conn == NULL)
            return &p->slots[i];
        if (p->slots[i].since_ms < best->since_ms)
            best = &p->slots[i];
    }
    return best;
}

void pool_put(struct pool *p, struct conn *conn, uint64_t now_ms)
{
    static const struct conn_events events = {.on_data = on_data, .on_closed = on_closed};
    struct pool_slot *slot = slot_to_fill(p);

    conn_dispose(&slot->conn);
    slot->conn = conn;
    slot->since_ms = now_ms;
    conn_set_events(conn, &events, slot);
}

/* The connection that became idle last has the best chance that the server still keeps it open. One
 * whose end is known but not reported yet is no longer CONN_OPEN. peer NULL = any. */
static struct conn *take(struct pool *p, const uint64_t *peer)
{
    struct pool_slot *best = NULL;

    for (int i = 0; i < POOL_MAX_IDLE; i++) {
        struct pool_slot *slot = &p->slots[i];

        if (slot->conn == NULL || conn_state(slot->conn) != CONN_OPEN)
            continue;
        if (peer != NULL && conn_peer(slot->conn) != *peer)
            continue;
        if (best == NULL || slot->since_ms > best->since_ms)
            best = slot;
    }
    if (best == NULL)
        return NULL;
    struct conn *conn = best->conn;

    best->conn = NULL;
    conn_set_events(conn, NULL, NULL);
    return conn;
}

struct conn *pool_take(struct pool *p)
{
    return take(p, NULL);
}

struct conn *pool_take_peer(struct pool *p, uint64_t peer)
{
    return take(p, &peer);
}

uint64_t pool_expire(struct pool *p, uint64_t now_ms)
{
    uint64_t next_ms = 0;

    for (int i = 0; i < POOL_MAX_IDLE; i++) {
        struct pool_slot *slot = &p->slots[i];
        uint64_t due_ms = slot->since_ms + POOL_MAX_IDLE_MS;

        if (slot->conn != NULL && due_ms <= now_ms)
            conn_dispose(&slot->conn);
        if (slot->conn != NULL && (next_ms == 0 || due_ms - now_ms < next_ms))
            next_ms = due_ms - now_ms;
    }
    return next_ms;
}

void pool_clear(struct pool *p)
{
    for (int i = 0; i < POOL_MAX_IDLE; i++)
        conn_dispose(&p->slots[i].conn);
}
