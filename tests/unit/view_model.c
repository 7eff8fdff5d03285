/* SPDX-License-Identifier: Apache-2.0 */
#include "view_model.h"

#include <stdio.h>
#include <string.h>

/* The empty string is a name, too. */
static const char *const port_names[MODEL_PORTS] = {"", "http", "b"};

static const char *said(enum model_said s)
{
    static const char *const words[] = {"", "null", "false", "true"};

    return words[s];
}

static void put_ports(struct buf *out, const struct model_port *ports, unsigned n)
{
    buf_puts(out, "\"ports\":[");
    for (unsigned i = 0; i < n; i++) {
        buf_puts(out, i > 0 ? ",{" : "{");
        if (ports[i].name < MODEL_PORTS)
            buf_printf(out, "\"name\":\"%s\",", port_names[ports[i].name]);
        if (ports[i].udp || ports[i].number % 2 == 0)
            buf_printf(out, "\"protocol\":\"%s\",", ports[i].udp ? "UDP" : "TCP");
        buf_printf(out, "\"port\":%u}", ports[i].number);
    }
    buf_puts(out, "]");
}

void model_put_service(struct buf *out, unsigned i, const struct model_service *s)
{
    buf_printf(out,
               "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"s%u\","
               "\"name\":\"%c\",\"uid\":\"u%u\",\"resourceVersion\":\"%u\",\"generation\":%u,"
               "\"labels\":{\"noise\":\"%u\"}},\"spec\":{",
               i / 3, (char)('a' + i % 3), s->uid, s->rv, s->rv + 1, s->noise);
    if (s->external)
        buf_puts(out, "\"type\":\"ExternalName\",");
    put_ports(out, s->ports, s->port_count);
    buf_puts(out, "}}");
}

static void put_condition(struct buf *out, const char *name, enum model_said s)
{
    if (s != MODEL_ABSENT)
        buf_printf(out, "%s\"%s\":%s", out->data[out->len - 1] == '{' ? "" : ",", name, said(s));
}

static void put_address(struct buf *out, bool v6, unsigned address)
{
    if (v6)
        buf_printf(out, "fd00::%x", address);
    else
        buf_printf(out, "10.0.0.%u", address);
}

static void put_endpoint(struct buf *out, bool v6, const struct model_endpoint *e)
{
    buf_puts(out, "{\"addresses\":[\"");
    put_address(out, v6, e->address);
    buf_puts(out, "\",\"10.9.9.9\"],\"conditions\":{");
    put_condition(out, "ready", e->ready);
    put_condition(out, "serving", e->serving);
    put_condition(out, "terminating", e->terminating);
    buf_puts(out, "}");
    if (e->node > 0)
        buf_printf(out, ",\"nodeName\":\"n%u\"", e->node);
    if (e->zone > 0)
        buf_printf(out, ",\"zone\":\"z%u\"", e->zone);
    if (e->pod > 0)
        buf_printf(out, ",\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p%u\"}", e->pod);
    buf_puts(out, ",\"hints\":{\"forZones\":[");
    for (unsigned i = 0; i < MODEL_HINTS; i++)
        if (e->hints[i] > 0)
            buf_printf(out, "%s{\"name\":\"z%u\"}", out->data[out->len - 1] == '[' ? "" : ",",
                       e->hints[i]);
    buf_puts(out, "]}}");
}

void model_put_slice(struct buf *out, unsigned i, const struct model_slice *s)
{
    buf_printf(out,
               "{\"kind\":\"EndpointSlice\",\"apiVersion\":\"discovery.k8s.io/v1\",\"metadata\":{"
               "\"namespace\":\"s%u\",\"name\":\"x%u\",\"uid\":\"x%u\",\"resourceVersion\":\"%u\"",
               s->space, i, i, s->rv);
    if (s->service < 3)
        buf_printf(out, ",\"labels\":{\"kubernetes.io/service-name\":\"%c\"}",
                   (char)('a' + s->service));
    buf_printf(out, "},\"addressType\":\"%s\",\"endpoints\":[", s->v6 ? "IPv6" : "IPv4");
    for (unsigned k = 0; k < s->endpoint_count; k++) {
        buf_puts(out, k > 0 ? "," : "");
        put_endpoint(out, s->v6, &s->endpoints[k]);
    }
    buf_puts(out, "],");
    put_ports(out, s->ports, s->port_count);
    buf_puts(out, "}");
}

bool model_is_of(const struct model_slice *s, unsigned i)
{
    return s->exists && s->space == i / 3 && s->service == i % 3;
}

static void put_addresses(struct buf *out, const struct model_slice *s, bool ready)
{
    buf_printf(out, "\"%s\":[", ready ? "addresses" : "notReadyAddresses");
    for (unsigned k = 0; k < s->endpoint_count; k++) {
        const struct model_endpoint *e = &s->endpoints[k];

        if ((e->ready != MODEL_FALSE) != ready)
            continue;
        buf_puts(out, out->data[out->len - 1] == '[' ? "{\"ip\":\"" : ",{\"ip\":\"");
        put_address(out, s->v6, e->address);
        buf_puts(out, "\"");
        if (e->node > 0)
            buf_printf(out, ",\"nodeName\":\"n%u\"", e->node);
        if (e->pod > 0)
            buf_printf(out, ",\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p%u\"}", e->pod);
        buf_puts(out, "}");
    }
    buf_puts(out, "],");
}

unsigned model_put_endpoints(struct buf *out, const struct model *m, unsigned i, unsigned rv)
{
    unsigned n = 0;

    buf_printf(out,
               "{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"s%u\","
               "\"name\":\"%c\",\"uid\":\"e%u\",\"resourceVersion\":\"%u\"},\"subsets\":[",
               i / 3, (char)('a' + i % 3), i, rv);
    for (unsigned k = 0; k < MODEL_SLICES; k++) {
        const struct model_slice *s = &m->slices[k];

        if (!model_is_of(s, i))
            continue;
        buf_puts(out, n++ > 0 ? ",{" : "{");
        put_addresses(out, s, true);
        put_addresses(out, s, false);
        put_ports(out, s->ports, s->port_count);
        buf_puts(out, "}");
    }
    buf_puts(out, "]}");
    return n;
}

/* One endpoint of a port: its text in "use", and the text that it is sorted by. */
struct candidate {
    char place[64]; /* family, address, number: sorts as they should */
    char worth[64]; /* of endpoints at one place the least text counts */
    char json[320];
    unsigned address; /* with the family */
    bool ready;
    bool local;
};

enum { CANDIDATES = MODEL_SLICES * MODEL_ENDPOINTS * MODEL_PORTS };

struct candidates {
    struct candidate v[CANDIDATES];
    unsigned n;
};

/* A port of a Service without a name has the empty name. A port of a slice without a name has none,
 * and belongs to no port of a Service. */
static unsigned name_of(const struct model_port *p)
{
    return p->name < MODEL_PORTS ? p->name : 0;
}

static bool is_true(enum model_said s, bool otherwise)
{
    return s == MODEL_TRUE || (otherwise && s != MODEL_FALSE);
}

static void put_word(struct buf *out, const char *name, char letter, unsigned n)
{
    if (n > 0)
        buf_printf(out, "\"%s\":\"%c%u\",", name, letter, n);
    else
        buf_printf(out, "\"%s\":null,", name);
}

/* Hints in order, each once: zones are 1 .. 9. */
static void put_hints(struct buf *json, struct buf *worth, const struct model_endpoint *e)
{
    bool first = true;

    for (unsigned zone = 1; zone < 10; zone++) {
        bool any = false;

        for (unsigned i = 0; i < MODEL_HINTS; i++)
            any = any || e->hints[i] == zone;
        if (!any)
            continue;
        buf_printf(json, "%s\"z%u\"", first ? "" : ",", zone);
        buf_printf(worth, "%u", zone);
        first = false;
    }
}

static void describe(struct candidate *c, const struct model_slice *s,
                     const struct model_endpoint *e, unsigned number)
{
    struct buf json = {0};
    struct buf worth = {0};
    bool ends = is_true(e->terminating, false);

    c->ready = is_true(e->ready, true);
    c->local = e->node == 1;
    c->address = e->address + (s->v6 ? 1000 : 0);
    snprintf(c->place, sizeof(c->place), "%d %05u %05u", s->v6, e->address, number);
    buf_puts(&json, "{\"address\":\"");
    put_address(&json, s->v6, e->address);
    buf_printf(&json, "\",\"family\":\"%s\",\"port\":%u,", s->v6 ? "IPv6" : "IPv4", number);
    put_word(&json, "node", 'n', e->node);
    put_word(&json, "zone", 'z', e->zone);
    put_word(&json, "pod", 'p', e->pod);
    buf_printf(&worth, "%c%d%u %u %u ", c->ready ? ends ? '1' : '0' : '2', !c->local, e->node,
               e->zone, e->pod);
    buf_puts(&json, "\"hints\":[");
    put_hints(&json, &worth, e);
    buf_printf(&json, "],\"state\":\"%s\"}", c->ready ? "ready" : "draining");
    snprintf(c->json, sizeof(c->json), "%s", buf_cstr(&json));
    snprintf(c->worth, sizeof(c->worth), "%s", buf_cstr(&worth));
    buf_free(&json);
    buf_free(&worth);
}

/* Keeps one candidate of each place. */
static void consider(struct candidates *all, const struct candidate *c)
{
    for (unsigned i = 0; i < all->n; i++) {
        if (strcmp(all->v[i].place, c->place) != 0)
            continue;
        if (strcmp(c->worth, all->v[i].worth) < 0)
            all->v[i] = *c;
        return;
    }
    all->v[all->n++] = *c;
}

/* An Endpoints object has of an address only whether it is ready, its node and its pod. */
static struct model_endpoint seen(const struct model *m, const struct model_endpoint *e)
{
    struct model_endpoint out = *e;

    if (m->of_endpoints) {
        out.serving = out.terminating = MODEL_FALSE;
        out.zone = 0;
        memset(out.hints, 0, sizeof(out.hints));
    }
    return out;
}

/* A port of Endpoints without a name has the empty name, like a port of a Service. */
static bool is_port(const struct model *m, const struct model_port *p,
                    const struct model_port *wanted)
{
    unsigned name = m->of_endpoints ? name_of(p) : p->name;

    return name == name_of(wanted) && p->udp == wanted->udp && p->number > 0;
}

static void collect_slice(const struct model *m, const struct model_slice *s,
                          const struct model_port *port, struct candidates *all)
{
    for (unsigned k = 0; k < s->port_count * s->endpoint_count; k++) {
        const struct model_port *p = &s->ports[k % s->port_count];
        const struct model_endpoint e = seen(m, &s->endpoints[k / s->port_count]);
        bool ready = is_true(e.ready, true);
        bool drains = is_true(e.serving, true) && is_true(e.terminating, false);
        struct candidate c;

        if (!is_port(m, p, port) || (m->local_only && e.node != 1) || (!ready && !drains))
            continue;
        describe(&c, s, &e, p->number);
        consider(all, &c);
    }
}

/* If some candidates are ready, only those stay. */
static void only_ready(struct candidates *all)
{
    unsigned n = 0;
    bool any = false;

    for (unsigned i = 0; i < all->n; i++)
        any = any || all->v[i].ready;
    for (unsigned i = 0; i < all->n; i++)
        if (all->v[i].ready || !any)
            all->v[n++] = all->v[i];
    all->n = n;
}

static void collect(const struct model *m, unsigned service, const struct model_port *port,
                    struct candidates *all)
{
    all->n = 0;
    for (unsigned i = 0; i < MODEL_SLICES; i++)
        if (model_is_of(&m->slices[i], service))
            collect_slice(m, &m->slices[i], port, all);
    only_ready(all);
}

/* Puts the candidates in order: the least one that comes after the last one, again and again. */
static void put_in_order(struct buf *out, const struct candidates *all)
{
    const char *last = "";

    buf_puts(out, "[");
    for (unsigned n = 0; n < all->n; n++) {
        const struct candidate *next = NULL;

        for (unsigned i = 0; i < all->n; i++)
            if (strcmp(all->v[i].place, last) > 0 &&
                (next == NULL || strcmp(all->v[i].place, next->place) < 0))
                next = &all->v[i];
        if (next == NULL)
            break;
        buf_printf(out, "%s%s", n > 0 ? "," : "", next->json);
        last = next->place;
    }
    buf_puts(out, "]");
}

void model_forget(struct model *m, unsigned i)
{
    for (size_t k = 0; k < ARRAY_LEN(m->last); k++)
        if (m->last[k].service == i)
            m->last[k].known = false;
}

static struct model_last *last_of(struct model *m, unsigned service, const struct model_port *port)
{
    struct model_last *l =
        &m->last[(service * 2 + (port->udp ? 1 : 0)) * MODEL_PORTS + name_of(port)];

    l->service = service;
    return l;
}

/* Appends the endpoints of a port; returns whether the port is held. */
static bool put_uses(struct model *m, struct model_last *l, const struct candidates *all,
                     uint64_t now_ms, struct buf *out)
{
    if (all->n > 0) {
        buf_clear(&l->uses);
        put_in_order(&l->uses, all);
        buf_append_str(out, buf_str(&l->uses));
        l->known = true;
        l->empty_ms = 0;
        return false;
    }
    if (l->known && l->empty_ms == 0)
        l->empty_ms = now_ms;
    l->known = l->known && now_ms - l->empty_ms < m->hold_ms;
    if (l->known)
        buf_append_str(out, buf_str(&l->uses));
    else
        buf_puts(out, "[]");
    return l->known;
}

static void put_port_head(struct buf *out, const struct model_port *p)
{
    const char *name = port_names[name_of(p)];

    if (*name != '\0')
        buf_printf(out, "{\"name\":\"%s\",", name);
    else
        buf_puts(out, "{\"name\":null,");
    buf_printf(out,
               "\"protocol\":\"%s\",\"port\":%u,\"node_port\":null,\"app_protocol\":null,\"use\":",
               p->udp ? "UDP" : "TCP", p->number);
}

/* Notes the distinct addresses that are ready, and those of them that are local at some port. */
static void count(const struct candidates *all, bool ready[2000], bool local[2000])
{
    for (unsigned i = 0; i < all->n; i++) {
        const struct candidate *c = &all->v[i];

        ready[c->address] = ready[c->address] || c->ready;
        local[c->address] = local[c->address] || (c->ready && c->local);
    }
}

static unsigned sum(const bool v[2000])
{
    unsigned n = 0;

    for (unsigned i = 0; i < 2000; i++)
        n += v[i];
    return n;
}

/* Ports that the Service does not have any more are not remembered. */
static void forget_ports(struct model *m, unsigned i)
{
    const struct model_service *s = &m->services[i];

    for (size_t k = 0; k < 2 * (size_t)MODEL_PORTS; k++) {
        struct model_port p = {.name = (unsigned)k % MODEL_PORTS, .udp = k >= MODEL_PORTS};
        bool has = false;

        for (unsigned n = 0; n < s->port_count; n++)
            has = has || (name_of(&s->ports[n]) == p.name && s->ports[n].udp == p.udp);
        if (!has)
            last_of(m, i, &p)->known = false;
    }
}

void model_put_view(struct model *m, unsigned i, uint64_t now_ms, struct buf *out)
{
    const struct model_service *s = &m->services[i];
    static struct candidates all;
    bool ready[2000] = {false};
    bool local[2000] = {false};
    bool held = false;
    struct buf ports = {0};

    if (!s->exists || s->external) {
        model_forget(m, i);
        return;
    }
    forget_ports(m, i);
    for (unsigned k = 0; k < s->port_count; k++) {
        collect(m, i, &s->ports[k], &all);
        buf_puts(&ports, k > 0 ? "," : "");
        put_port_head(&ports, &s->ports[k]);
        held = put_uses(m, last_of(m, i, &s->ports[k]), &all, now_ms, &ports) || held;
        buf_puts(&ports, "}");
        count(&all, ready, local);
    }
    buf_printf(
        out,
        "{\"cluster\":\"c\",\"namespace\":\"s%u\",\"name\":\"%c\",\"uid\":\"u%u\",\"service\":",
        i / 3, (char)('a' + i % 3), s->uid);
    model_put_service(out, i, s);
    buf_printf(out, ",\"ready\":%u,\"local_ready\":%u,\"held\":%s,\"ports\":[", sum(ready),
               sum(local), held ? "true" : "false");
    buf_append_str(out, buf_str(&ports));
    buf_puts(out, "]}");
    buf_free(&ports);
}

uint64_t model_due_ms(const struct model *m)
{
    uint64_t due = UINT64_MAX;

    for (size_t k = 0; k < ARRAY_LEN(m->last); k++)
        if (m->last[k].known && m->last[k].empty_ms > 0 && m->last[k].empty_ms + m->hold_ms < due)
            due = m->last[k].empty_ms + m->hold_ms;
    return due;
}

void model_fini(struct model *m)
{
    for (size_t k = 0; k < ARRAY_LEN(m->last); k++)
        buf_free(&m->last[k].uses);
}
