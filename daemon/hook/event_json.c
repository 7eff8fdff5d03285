/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/event_json.h"

#include <time.h>

const struct object *event_json_about(const struct event_json *ev)
{
    return ev->type != DELTA_STALE && ev->type != DELTA_FRESH ? ev->object : NULL;
}

static void put_digits(char *at, size_t n, unsigned v)
{
    while (n-- > 0) {
        at[n] = (char)('0' + v % 10);
        v /= 10;
    }
}

void event_json_time(struct json_out *j, uint64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / 1000000000U);
    char text[] = "YYYY-MM-DDThh:mm:ss.nnnnnnnnnZ";
    struct tm tm;

    gmtime_r(&s, &tm);
    put_digits(text, 4, (unsigned)tm.tm_year + 1900);
    put_digits(text + 5, 2, (unsigned)tm.tm_mon + 1);
    put_digits(text + 8, 2, (unsigned)tm.tm_mday);
    put_digits(text + 11, 2, (unsigned)tm.tm_hour);
    put_digits(text + 14, 2, (unsigned)tm.tm_min);
    put_digits(text + 17, 2, (unsigned)tm.tm_sec);
    put_digits(text + 20, 9, (unsigned)(wall_ns % 1000000000U));
    json_out_cstr(j, text);
}

static void put_text(struct json_out *j, const char *key, const char *value)
{
    json_out_key(j, key);
    json_out_cstr(j, value);
}

/* What an event says about its object: NULL = it has none, all of it is null. */
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
    put_text(j, "type", delta_type_name(ev->type));
    put_text(j, "cause", delta_cause_name(ev->cause));
    put_text(j, "cluster", ev->cluster);
    put_text(j, "source", ev->source);
    put_identity(j, event_json_about(ev));
    json_out_key(j, "final_state_unknown");
    json_out_bool(j, ev->final_state_unknown);
    json_out_key(j, "received");
    if (ev->received_ns > 0)
        event_json_time(j, ev->received_ns);
    else
        json_out_null(j);
}

void event_json_object(struct json_out *j, const char *key, const struct object *o)
{
    json_out_key(j, key);
    if (o != NULL)
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
