/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/service.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "proto/json_pick.h"

/* The strings of the result are borrowed from t. The API server fills in TCP as well if no
 * protocol is given. */
static struct service_port read_port(const struct json_tree *t, unsigned at)
{
    struct service_port p = {
        .name = json_pick_str(t, at, "name"),
        .protocol = json_pick_str(t, at, "protocol"),
        .app_protocol = json_pick_str(t, at, "appProtocol"),
        .port = json_pick_number(t, at, "port", UINT16_MAX),
        .node_port = json_pick_number(t, at, "nodePort", UINT16_MAX),
    };

    if (p.protocol.n == 0)
        p.protocol = str_c("TCP");
    return p;
}

/* Copies ports and their texts to one allocation, the texts behind the array: a view keeps it as
 * long as the Service lives, and the tree goes away at once. */
static struct service_port *pack(const struct service_port *ports, size_t n)
{
    size_t bytes = n * sizeof(*ports);

    for (size_t i = 0; i < n; i++)
        bytes += ports[i].name.n + ports[i].protocol.n + ports[i].app_protocol.n;
    struct service_port *out = mem_alloc(bytes);
    char *text = (char *)(out + n);
    for (size_t i = 0; i < n; i++) {
        out[i] = ports[i];
        out[i].name = str_put(&text, ports[i].name);
        out[i].protocol = str_put(&text, ports[i].protocol);
        out[i].app_protocol = str_put(&text, ports[i].app_protocol);
    }
    return out;
}

static void read_spec(const struct json_tree *t, struct service *s)
{
    unsigned spec = json_pick(t, 0, "spec");
    unsigned ports = json_pick(t, spec, "ports");
    /* There cannot be more ports than values in the document. */
    struct service_port *found = mem_array(t->n + 1, sizeof(*found));

    s->external_name = str_is(json_pick_str(t, spec, "type"), "ExternalName");
    for (unsigned at = json_pick_first(t, ports); at != JSON_PICK_NONE;
         at = json_pick_next(t, ports, at))
        found[s->port_count++] = read_port(t, at);
    s->ports = pack(found, s->port_count);
    free(found);
}

enum err_kind service_read(struct str json, struct service *out, struct err *err)
{
    struct json_tree tree = {.text = json};
    enum err_kind kind = json_tree_read(&tree, err);

    *out = (struct service){0};
    if (kind == ERR_OK)
        read_spec(&tree, out);
    json_tree_free(&tree);
    return kind;
}

void service_fini(struct service *s)
{
    free(s->ports);
    *s = (struct service){0};
}
