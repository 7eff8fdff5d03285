/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/backends.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_pick.h"

/* The label of a slice that names its Service (discovery/v1 LabelServiceName). */
#define SERVICE_LABEL "kubernetes.io/service-name"

/* Hints that are kept of one endpoint. An API server accepts 8 of them; the bound keeps the
 * insertion in add_hint() cheap whatever a server sends. */
#define MAX_HINTS 64

/* ---- Addresses */

/* Reads one number of a dotted address from *at on and moves *at behind it. inet_pton() is of no
 * use here, as it refuses leading zeros, which kube-proxy takes as decimal. */
static bool read_octet(struct str text, size_t *at, unsigned char *out)
{
    size_t start = *at;
    unsigned value = 0;

    for (; *at < text.n && text.p[*at] >= '0' && text.p[*at] <= '9'; ++*at) {
        value = 10 * value + (unsigned)(text.p[*at] - '0');
        if (value > 255)
            return false;
    }
    *out = (unsigned char)value;
    return *at > start;
}

static bool parse_v4(struct str text, struct address *out)
{
    size_t at = 0;

    *out = (struct address){.family = ADDRESS_IPV4};
    for (size_t i = 0; i < 4; i++) {
        if (i > 0 && (at == text.n || text.p[at++] != '.'))
            return false;
        if (!read_octet(text, &at, &out->bytes[i]))
            return false;
    }
    return at == text.n;
}

static bool parse_v6(struct str text, struct address *out)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[ADDRESS_TEXT];

    /* inet_pton() needs a C string. A NUL byte inside of text would end that string early, so its
     * length is checked as well. */
    if (text.n >= sizeof(copy))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    *out = (struct address){.family = ADDRESS_IPV6};
    if (strlen(copy) != text.n || inet_pton(AF_INET6, copy, out->bytes) != 1)
        return false;
    /* ::ffff:1.2.3.4 and 1.2.3.4 are one address and have to compare as equal. */
    if (memcmp(out->bytes, mapped, sizeof(mapped)) == 0) {
        out->family = ADDRESS_IPV4;
        memcpy(out->bytes, out->bytes + sizeof(mapped), 4);
        memset(out->bytes + 4, 0, sizeof(out->bytes) - 4);
    }
    return true;
}

/* Reads an IPv4 or IPv6 address as kube-proxy does (k8s.io/utils/net ParseIPSloppy): leading zeros of
 * a number are decimal, and an IPv4 address mapped into IPv6 (::ffff:1.2.3.4) becomes IPv4. False:
 * text is no address, and *out is not set. */
static bool address_parse(struct str text, struct address *out)
{
    struct address a;
    bool v6 = text.n > 0 && memchr(text.p, ':', text.n) != NULL;

    if (text.n == 0 || !(v6 ? parse_v6(text, &a) : parse_v4(text, &a)))
        return false;
    *out = a;
    return true;
}

int address_cmp(const struct address *a, const struct address *b)
{
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    /* The bytes that an IPv4 address does not use are 0, so all 16 can be compared. */
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

const char *address_text(const struct address *a, char text[ADDRESS_TEXT])
{
    int family = a->family == ADDRESS_IPV4 ? AF_INET : AF_INET6;

    ensure(inet_ntop(family, a->bytes, text, ADDRESS_TEXT) != NULL);
    return text;
}

const char *address_family_name(enum address_family family)
{
    return family == ADDRESS_IPV4 ? "IPv4" : "IPv6";
}

/* ---- Slices and Endpoints */

struct str backends_str(const struct backends *b, struct backends_text t)
{
    if (t.n == 0)
        return (struct str){0};
    return str_of(b->text.data + t.at, t.n);
}

void backends_fini(struct backends *b)
{
    free(b->groups);
    free(b->ports);
    free(b->v);
    free(b->hints);
    buf_free(&b->text);
    *b = (struct backends){0};
}

/* Copies a text into the buffer. A position stays right when the buffer moves, a pointer would
 * not. */
static struct backends_text keep(struct backends *b, struct str s)
{
    struct backends_text t = {(uint32_t)b->text.len, (uint32_t)s.n};

    buf_append_str(&b->text, s);
    return t;
}

/* Gives the memory back that mem_grow() took ahead: a view keeps backends as long as their slice
 * lives. */
static void *trim(void *v, unsigned n, size_t size)
{
    return n > 0 ? mem_realloc(v, n * size) : v;
}

static void trim_all(struct backends *b)
{
    b->groups = trim(b->groups, b->n_groups, sizeof(*b->groups));
    b->ports = trim(b->ports, b->n_ports, sizeof(*b->ports));
    b->v = trim(b->v, b->n, sizeof(*b->v));
    b->hints = trim(b->hints, b->n_hints, sizeof(*b->hints));
    if (b->text.len > 0) {
        b->text.data = mem_realloc(b->text.data, b->text.len);
        b->text.cap = b->text.len;
    }
}

static struct backend_group *open_group(struct backends *b)
{
    b->groups = mem_grow(b->groups, b->n_groups, sizeof(*b->groups));
    b->groups[b->n_groups] =
        (struct backend_group){.first_port = b->n_ports, .first_backend = b->n};
    return &b->groups[b->n_groups++];
}

static void close_group(struct backends *b, struct backend_group *g)
{
    g->port_count = b->n_ports - g->first_port;
    g->backend_count = b->n - g->first_backend;
}

/* Adds one port. A port without a number would mean all ports; kube-proxy leaves it out. */
static void add_port(struct backends *b, const struct json_tree *t, unsigned at)
{
    unsigned number = json_pick_number(t, at, "port", UINT16_MAX);
    struct str protocol = json_pick_str(t, at, "protocol");

    if (number == 0)
        return;
    b->ports = mem_grow(b->ports, b->n_ports, sizeof(*b->ports));
    b->ports[b->n_ports++] = (struct backend_port){
        .name = keep(b, json_pick_str(t, at, "name")),
        .protocol = keep(b, protocol.n > 0 ? protocol : str_c("TCP")),
        .number = (uint16_t)number,
    };
}

/* Adds the ports of a slice. A port without the member name belongs to no port of a Service, and
 * kube-proxy ignores it. An empty name is a name: that of the Service's only port. */
static void add_slice_ports(struct backends *b, const struct json_tree *t)
{
    unsigned ports = json_pick(t, 0, "ports");

    for (unsigned at = json_pick_first(t, ports); at != JSON_PICK_NONE;
         at = json_pick_next(t, ports, at)) {
        unsigned name = json_pick(t, at, "name");

        if (name != JSON_PICK_NONE && t->v[name].type == JSON_STRING)
            add_port(b, t, at);
    }
}

/* Inserts one hint among those of the endpoint that is being read, which are the last ones. They
 * are sorted and each is there once, so the order in which a server writes them makes no
 * difference. */
static void add_hint(struct backends *b, unsigned first, struct str zone)
{
    unsigned at = b->n_hints;
    int order = -1;

    while (at > first && (order = str_cmp(zone, backends_str(b, b->hints[at - 1]))) < 0)
        at--;
    if (zone.n == 0 || (at > first && order == 0) || b->n_hints - first == MAX_HINTS)
        return;
    b->hints = mem_grow(b->hints, b->n_hints, sizeof(*b->hints));
    for (unsigned i = b->n_hints++; i > at; i--)
        b->hints[i] = b->hints[i - 1];
    b->hints[at] = keep(b, zone);
}

static void read_hints(struct backends *b, const struct json_tree *t, unsigned endpoint,
                       struct backend *e)
{
    unsigned zones = json_pick(t, json_pick(t, endpoint, "hints"), "forZones");

    e->first_hint = b->n_hints;
    for (unsigned at = json_pick_first(t, zones); at != JSON_PICK_NONE;
         at = json_pick_next(t, zones, at))
        add_hint(b, e->first_hint, json_pick_str(t, at, "name"));
    e->hint_count = b->n_hints - e->first_hint;
}

/* Reads the conditions as kube-proxy does (its endpointslicecache.go): an absent ready or serving
 * is true, an absent terminating is false. False: the endpoint is not usable. */
static bool read_state(const struct json_tree *t, unsigned endpoint, enum backend_state *state)
{
    unsigned conditions = json_pick(t, endpoint, "conditions");
    bool ready = json_pick_bool(t, conditions, "ready", true);
    bool serving = json_pick_bool(t, conditions, "serving", true);
    bool terminating = json_pick_bool(t, conditions, "terminating", false);

    *state = !ready ? BACKEND_DRAINING : terminating ? BACKEND_READY_ENDING : BACKEND_READY;
    return ready || (serving && terminating);
}

/* Reads the node and, if the endpoint is a Pod, the name of the Pod. */
static void read_target(struct backends *b, const struct json_tree *t, unsigned endpoint,
                        struct backend *e)
{
    unsigned target = json_pick(t, endpoint, "targetRef");

    e->node = keep(b, json_pick_str(t, endpoint, "nodeName"));
    if (str_is(json_pick_str(t, target, "kind"), "Pod"))
        e->pod = keep(b, json_pick_str(t, target, "name"));
}

static void add_backend(struct backends *b, const struct backend *e)
{
    b->v = mem_grow(b->v, b->n, sizeof(*b->v));
    b->v[b->n++] = *e;
}

/* Adds one endpoint of a slice. The first address is the endpoint; the API says that further ones
 * are not for consumers. An endpoint whose address cannot be parsed is left out. */
static void add_slice_endpoint(struct backends *b, const struct json_tree *t, unsigned at)
{
    struct backend e = {0};
    unsigned address = json_pick_first(t, json_pick(t, at, "addresses"));

    if (!address_parse(json_pick_text(t, address), &e.address) || !read_state(t, at, &e.state))
        return;
    read_target(b, t, at, &e);
    e.zone = keep(b, json_pick_str(t, at, "zone"));
    read_hints(b, t, at, &e);
    add_backend(b, &e);
}

/* Reads a slice. Its Service is noted even if there are no usable endpoints: the slice belongs to
 * that Service nevertheless. An addressType FQDN has names, which kube-proxy ignores. */
static void read_slice(struct backends *b, const struct json_tree *t)
{
    unsigned labels = json_pick(t, json_pick(t, 0, "metadata"), "labels");
    struct str type = json_pick_str(t, 0, "addressType");
    unsigned endpoints = json_pick(t, 0, "endpoints");

    b->service = keep(b, json_pick_str(t, labels, SERVICE_LABEL));
    if (!str_is(type, "IPv4") && !str_is(type, "IPv6"))
        return;
    struct backend_group *group = open_group(b);
    add_slice_ports(b, t);
    for (unsigned at = json_pick_first(t, endpoints); at != JSON_PICK_NONE;
         at = json_pick_next(t, endpoints, at))
        add_slice_endpoint(b, t, at);
    close_group(b, group);
}

/* Reads one subset of an Endpoints object. notReadyAddresses are not read: the address of a Pod
 * that ends is in neither list, so there are no draining endpoints to find. */
static void read_subset(struct backends *b, const struct json_tree *t, unsigned subset)
{
    struct backend_group *group = open_group(b);
    unsigned ports = json_pick(t, subset, "ports");
    unsigned addresses = json_pick(t, subset, "addresses");

    for (unsigned at = json_pick_first(t, ports); at != JSON_PICK_NONE;
         at = json_pick_next(t, ports, at))
        add_port(b, t, at);
    for (unsigned at = json_pick_first(t, addresses); at != JSON_PICK_NONE;
         at = json_pick_next(t, addresses, at)) {
        struct backend e = {.state = BACKEND_READY};

        if (!address_parse(json_pick_str(t, at, "ip"), &e.address))
            continue;
        read_target(b, t, at, &e);
        add_backend(b, &e);
    }
    close_group(b, group);
}

/* An Endpoints object belongs to the Service of its own name. */
static void read_endpoints(struct backends *b, const struct json_tree *t)
{
    unsigned subsets = json_pick(t, 0, "subsets");

    b->service = keep(b, json_pick_str(t, json_pick(t, 0, "metadata"), "name"));
    for (unsigned at = json_pick_first(t, subsets); at != JSON_PICK_NONE;
         at = json_pick_next(t, subsets, at))
        read_subset(b, t, at);
}

typedef void read_fn(struct backends *b, const struct json_tree *t);

static enum err_kind read_with(read_fn *read, struct str json, struct backends *out,
                               struct err *err)
{
    struct json_tree tree = {.text = json};
    enum err_kind kind = json_tree_read(&tree, err);

    *out = (struct backends){0};
    if (kind == ERR_OK)
        read(out, &tree);
    trim_all(out);
    json_tree_free(&tree);
    return kind;
}

enum err_kind backends_read_slice(struct str json, struct backends *out, struct err *err)
{
    return read_with(read_slice, json, out, err);
}

enum err_kind backends_read_endpoints(struct str json, struct backends *out, struct err *err)
{
    return read_with(read_endpoints, json, out, err);
}
