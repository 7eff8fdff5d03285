/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/event_json.h"

#include "proto/json_member.h"

const struct object *event_json_about(const struct event_json *ev)
{
    return ev->type != DELTA_STALE && ev->type != DELTA_FRESH ? ev->object : NULL;
}

/* The identity of the event's object. o NULL: the event has no object, and all members are null, so
 * that every event has the same members. */
static void put_identity(struct json_out *j, const struct object *o)
{
    static const struct {
        const char *key;
        struct str (*value)(const struct object *o);
    } rows[] = {
        {"api_version",      object_api_version},
        {"kind",             object_kind       },
        {"namespace",        object_namespace  },
        {"name",             object_name       },
        {"uid",              object_uid        },
        {"resource_version", object_rv         },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_out_key(j, rows[i].key);
        if (o != NULL)
            json_out_str(j, rows[i].value(o));
        else
            json_out_null(j);
    }
}

void event_json_open(struct json_out *j, const struct event_json *ev)
{
    json_out_open(j, '{');
    json_member_text(j, "type", delta_type_name(ev->type));
    json_member_text(j, "cause", delta_cause_name(ev->cause));
    json_member_text(j, "cluster", ev->cluster);
    json_member_text(j, "source", ev->source);
    put_identity(j, event_json_about(ev));
    json_out_key(j, "final_state_unknown");
    json_out_bool(j, ev->final_state_unknown);
    json_out_key(j, "received");
    if (ev->received_ns > 0)
        json_out_time(j, ev->received_ns);
    else
        json_out_null(j);
}

void event_json_object(struct json_out *j, const char *key, const struct object *o)
{
    json_out_key(j, key);
    /* An object without a body is one of which only key and uid are known. */
    if (o != NULL && !object_is_bare(o))
        object_put_json(json_out_raw(j), o);
    else
        json_out_null(j);
}

void event_json_put(struct json_out *j, const struct event_json *ev)
{
    event_json_open(j, ev);
    event_json_object(j, "object", event_json_about(ev));
    json_out_close(j, '}');
}
