/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/net.h"

#include "sim/stream.h"

const char *net_fault_text(enum fault fault)
{
#define FAULT_TEXT(id, text) text,
    static const char *const texts[] = {FAULT_MAP(FAULT_TEXT)};
#undef FAULT_TEXT

    return texts[fault];
}

const char *net_request_text(enum request request)
{
#define REQUEST_TEXT(id, text) text,
    static const char *const texts[] = {REQUEST_MAP(REQUEST_TEXT)};
#undef REQUEST_TEXT

    return texts[request];
}

void net_count(struct net *n, enum fault fault)
{
    n->injected[fault]++;
    clock_trace(n->clock, "! %s", net_fault_text(fault));
}

bool net_strikes(struct net *n, enum fault fault)
{
    if (!clock_percent(n->clock, n->percent))
        return false;
    net_count(n, fault);
    return true;
}

/* Calls fn for each stream of a server (NULL = of any server); fn may change the stream. */
static void each_scope(struct net *n, const struct server *s, void (*fn)(struct stream *stream))
{
    list_each (pos, tmp, &n->streams) {
        struct stream *stream = list_entry(pos, struct stream, link);

        if (stream->server == s)
            fn(stream);
    }
}

static void on_move(void *arg, struct server *s)
{
    each_scope(arg, s, stream_wake);
}

void net_init(struct net *n, struct clock *clock, struct api *api, const struct setup *setup)
{
    *n = (struct net){.clock = clock, .api = api, .setup = setup};
    list_init(&n->streams);
    for (size_t i = 0; i < SERVERS; i++) {
        n->servers[i] = (struct server){.lag_ms = setup->lag_ms[i], .on_move = on_move, .arg = n};
        n->servers[i].process = i; /* no other process gets this number */
        server_init(&n->servers[i], clock, api);
    }
}

void net_poke(struct net *n)
{
    for (size_t i = 0; i < SERVERS; i++)
        server_poke(&n->servers[i]);
}

void net_restart(struct net *n, struct server *s)
{
    net_count(n, FAULT_RESTART);
    server_restart(s);
    s->away = false;
    each_scope(n, s, stream_lose);
}

static void replace_all(struct net *n)
{
    for (size_t i = 0; i < SERVERS; i++) {
        server_restart(&n->servers[i]);
        n->servers[i].away = false;
        each_scope(n, &n->servers[i], stream_lose);
    }
}

void net_replace(struct net *n, enum fault kind)
{
    uint64_t rv = n->api->rv;

    net_count(n, kind);
    if (kind == FAULT_FOREIGN_LOWER)
        rv = clock_pick(n->clock, 1, rv);
    else if (kind == FAULT_FOREIGN_HIGHER)
        rv += clock_pick(n->clock, 1, 1000);
    n->foreign_rv = rv;
    replace_all(n);
}

void net_give_back(struct net *n)
{
    n->foreign_rv = 0;
    replace_all(n);
}

void net_take_away(struct net *n, struct server *s)
{
    net_count(n, FAULT_AWAY);
    s->away = true;
    each_scope(n, s, clock_percent(n->clock, 50) ? stream_hang : stream_lose);
}

void net_cut_off(struct net *n)
{
    net_count(n, FAULT_DRILL);
    for (size_t i = 0; i < SERVERS; i++) {
        n->servers[i].away = true;
        each_scope(n, &n->servers[i], stream_lose);
    }
}

void net_heal(struct net *n)
{
    for (size_t i = 0; i < SERVERS; i++) {
        n->servers[i].away = false;
        n->servers[i].split = false;
    }
    net_poke(n);
}
