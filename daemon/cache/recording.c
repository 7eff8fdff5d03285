/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/recording.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/recording.h"
#include "base/rfc3339.h"
#include "base/visible.h"
#include "kube/object_scan.h"
#include "proto/json_in.h"
#include "proto/json_out.h"

/* The members of a line that count. Texts that are not there are "". */
enum member {
    MEMBER_AT,
    MEMBER_TYPE,
    MEMBER_CAUSE,
    MEMBER_SOURCE,
    MEMBER_RESOURCE,
    MEMBER_WHY,
    MEMBER_API_VERSION,
    MEMBER_KIND,
    MEMBER_NAMESPACE,
    MEMBER_NAME,
    MEMBER_UID,
    MEMBER_RECORDING,
    MEMBER_FINAL_STATE_UNKNOWN,
    MEMBER_STALE,
    MEMBER_OBJECT,
    MEMBERS
};

static const char *const member_names[MEMBERS] = {
    "at",
    "type",
    "cause",
    "source",
    "resource",
    "why",
    "api_version",
    "kind",
    "namespace",
    "name",
    "uid",
    "recording",
    "final_state_unknown",
    "stale",
    "object",
};

/* The findings of one pass over the tokens of a line. */
struct scan {
    struct str text;
    enum member at; /* the value that comes next at depth 1; MEMBERS = one that does not count */
    struct buf members[MEMBERS];
    bool final_state_unknown;
    bool stale;
    bool is_object;    /* the line is a JSON object */
    size_t begins;     /* of the value of "object", in text */
    struct str object; /* "" = there is none, or null */
};

static enum member member_of(struct str key)
{
    enum member m = 0;

    while (m < MEMBERS && !str_is(key, member_names[m]))
        m++;
    return m;
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct scan *s = arg;

    if (t->depth == 0)
        s->is_object = t->type == JSON_OBJECT || t->type == JSON_OBJECT_END;
    if (t->depth != 1)
        return true;
    if (t->type == JSON_KEY) {
        s->at = member_of(t->text);
    } else if (s->at == MEMBER_OBJECT && t->type == JSON_OBJECT) {
        s->begins = (size_t)t->end - 1;
    } else if (s->at == MEMBER_OBJECT && t->type == JSON_OBJECT_END) {
        s->object = str_of(s->text.p + s->begins, (size_t)t->end - s->begins);
    } else if (s->at < MEMBERS && (t->type == JSON_STRING || t->type == JSON_NUMBER)) {
        buf_clear(&s->members[s->at]);
        buf_append_str(&s->members[s->at], t->text);
    } else if (s->at == MEMBER_FINAL_STATE_UNKNOWN) {
        s->final_state_unknown = t->type == JSON_TRUE;
    } else if (s->at == MEMBER_STALE) {
        s->stale = t->type == JSON_TRUE;
    }
    return true;
}

static void scan_fini(struct scan *s)
{
    for (size_t i = 0; i < MEMBERS; i++)
        buf_free(&s->members[i]);
}

static struct str get(const struct scan *s, enum member m)
{
    return buf_str(&s->members[m]);
}

static char *copy(const struct scan *s, enum member m)
{
    return mem_strndup(get(s, m).p, get(s, m).n);
}

/* ---- Objects */

/* Reads an object without limits and with all its bytes. The watch that it is played to decides which of
 * its parts are kept. */
static enum err_kind read_object(struct str text, struct object **out, struct err *err)
{
    const struct object_rules rules = {.object_size = SIZE_MAX / 2};
    struct object_scan *scan = object_scan_create(&rules);
    enum err_kind kind = ERR_OK;

    object_scan_text(scan, text);
    if (object_scan_kind(scan).n == 0 || object_scan_api_version(scan).n == 0)
        kind = err_set(err, ERR_PROTOCOL, 0, "the object has no apiVersion or no kind");
    if (object_scan_end(scan, str_c(""), str_c(""), out) != OBJECT_SCAN_OK && kind == ERR_OK)
        kind = err_set(err, ERR_PROTOCOL, 0, "the object cannot be used: %s",
                       object_scan_unusable(scan, NULL).why);
    if (kind != ERR_OK)
        object_unref(out);
    object_scan_destroy(&scan);
    return kind;
}

/* The end of an object whose bytes informerd did not have (persist = "digest"): the line tells its
 * identity. */
static enum err_kind read_identity(const struct scan *s, struct object **out, struct err *err)
{
    static const struct {
        const char *key;
        enum member from;
    } rows[] = {
        {"name",      MEMBER_NAME     },
        {"namespace", MEMBER_NAMESPACE},
        {"uid",       MEMBER_UID      }
    };
    struct buf text = {0};
    struct json_out j = json_out_to(&text);

    json_out_open(&j, '{');
    json_out_key(&j, "apiVersion");
    json_out_str(&j, get(s, MEMBER_API_VERSION));
    json_out_key(&j, "kind");
    json_out_str(&j, get(s, MEMBER_KIND));
    json_out_key(&j, "metadata");
    json_out_open(&j, '{');
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (get(s, rows[i].from).n == 0)
            continue;
        json_out_key(&j, rows[i].key);
        json_out_str(&j, get(s, rows[i].from));
    }
    json_out_close(&j, '}');
    json_out_close(&j, '}');
    enum err_kind kind = read_object(buf_str(&text), out, err);
    buf_free(&text);
    return kind;
}

/* ---- Lines */

/* The number of a word in a row of words; n = it is none of them. */
static unsigned word_of(struct str word, const char *(*name)(unsigned i), unsigned n)
{
    unsigned i = 0;

    while (i < n && !str_is(word, name(i)))
        i++;
    return i;
}

static const char *type_name(unsigned i)
{
    return delta_type_name((enum delta_type)i);
}

static const char *cause_name(unsigned i)
{
    return delta_cause_name((enum delta_cause)i);
}

static enum err_kind read_change(const struct scan *s, struct recording_line *out, struct err *err)
{
    unsigned type = word_of(get(s, MEMBER_TYPE), type_name, DELTA_FRESH + 1);
    unsigned cause = word_of(get(s, MEMBER_CAUSE), cause_name, CAUSE_CONFIG + 1);
    bool ends = type == DELTA_DELETED || type == DELTA_LEFT;

    if (type > DELTA_FRESH)
        return err_set(err, ERR_PROTOCOL, 0, "the type is none that a recording has");
    out->what = RECORDING_CHANGE;
    out->type = (enum delta_type)type;
    out->cause = cause > CAUSE_CONFIG ? CAUSE_WATCH : (enum delta_cause)cause;
    out->final_state_unknown = s->final_state_unknown;
    if (type == DELTA_STALE || type == DELTA_FRESH)
        return ERR_OK;
    if (s->object.n > 0)
        return read_object(s->object, &out->object, err);
    if (ends)
        return read_identity(s, &out->object, err);
    return err_set(err, ERR_PROTOCOL, 0,
                   "the object is missing: informerd knew only its digest (persist) when it was "
                   "recorded");
}

static enum err_kind read_head(const struct scan *s, struct recording_line *out, struct err *err)
{
    struct str version = get(s, MEMBER_RECORDING);
    struct buf shown = {0};
    uint64_t number = 0;

    out->what = RECORDING_HEAD;
    if (str_take_u64(&version, &number) && version.n == 0 && number == RECORDING_VERSION)
        return ERR_OK;
    visible_put(&shown, get(s, MEMBER_RECORDING));
    err_set(err, ERR_CONFIG, 0, "a recording of version %s, and this informerd reads version %d",
            buf_cstr(&shown), RECORDING_VERSION);
    buf_free(&shown);
    return ERR_CONFIG;
}

static enum err_kind read_line(const struct scan *s, struct recording_line *out, struct err *err)
{
    struct str type = get(s, MEMBER_TYPE);

    if (get(s, MEMBER_RECORDING).n > 0)
        return read_head(s, out, err);
    if (get(s, MEMBER_SOURCE).n == 0)
        return err_set(err, ERR_PROTOCOL, 0, "no line of a recording: it names no source");
    out->source = copy(s, MEMBER_SOURCE);
    if (str_is(type, "WATCH")) {
        out->what = RECORDING_WATCH;
        out->resource = copy(s, MEMBER_RESOURCE);
    } else if (str_is(type, "SYNCED")) {
        out->what = RECORDING_SYNCED;
        out->stale = s->stale;
    } else if (str_is(type, "CUT")) {
        out->what = RECORDING_CUT;
        out->why = copy(s, MEMBER_WHY);
    } else {
        return read_change(s, out, err);
    }
    return ERR_OK;
}

enum err_kind recording_read(struct str text, struct recording_line *out, struct err *err)
{
    struct scan s = {.text = text, .at = MEMBERS};
    enum err_kind kind = json_in_scan(text, on_token, &s, err);

    *out = (struct recording_line){0};
    if (kind == ERR_OK && !s.is_object)
        kind = err_set(err, ERR_PROTOCOL, 0, "no line of a recording: it is no JSON object");
    if (kind == ERR_OK)
        kind = read_line(&s, out, err);
    if (kind == ERR_OK && get(&s, MEMBER_AT).n > 0 &&
        !rfc3339_read(get(&s, MEMBER_AT), &out->at_ms))
        kind = err_set(err, ERR_PROTOCOL, 0, "\"at\" is no time such as 2026-01-31T23:59:59Z");
    if (kind != ERR_OK) {
        recording_line_fini(out);
        kind = kind == ERR_CONFIG ? ERR_CONFIG : ERR_PROTOCOL;
        err->kind = kind;
    }
    scan_fini(&s);
    return kind;
}

void recording_line_fini(struct recording_line *l)
{
    free(l->source);
    free(l->resource);
    free(l->why);
    object_unref(&l->object);
    *l = (struct recording_line){0};
}

/* ---- Objects of kubectl */

/* The items of a list, found in one pass. */
struct items {
    struct str text;
    bool is_object;
    bool in_items; /* the value at depth 1 that comes next is that of "items" */
    bool is_list;  /* there is an array "items" */
    size_t begins;
    recording_take *take;
    void *arg;
    size_t count;
    struct err *err;
    enum err_kind kind;
};

static bool take_item(struct items *s, struct str text)
{
    struct object *o = NULL;

    s->count++;
    s->kind = read_object(text, &o, s->err);
    if (s->kind != ERR_OK) {
        err_wrap(s->err, "item %zu", s->count);
        return false;
    }
    s->take(s->arg, o);
    object_unref(&o);
    return true;
}

static bool on_list_token(void *arg, const struct json_token *t)
{
    struct items *s = arg;

    if (t->depth == 0)
        s->is_object = t->type == JSON_OBJECT || t->type == JSON_OBJECT_END;
    if (t->depth == 1 && t->type == JSON_KEY)
        s->in_items = str_is(t->text, "items");
    if (t->depth == 1 && s->in_items && t->type == JSON_ARRAY)
        s->is_list = true;
    if (t->depth != 2 || !s->in_items || !s->is_list)
        return true;
    if (t->type == JSON_OBJECT_END)
        return take_item(s, str_of(s->text.p + s->begins, (size_t)t->end - s->begins));
    if (t->type == JSON_OBJECT) {
        s->begins = (size_t)t->end - 1;
        return true;
    }
    s->kind = err_set(s->err, ERR_PROTOCOL, 0, "item %zu is no object", s->count + 1);
    return false;
}

enum err_kind recording_read_objects(struct str text, recording_take *take, void *arg,
                                     struct err *err)
{
    struct items s = {.text = text, .take = take, .arg = arg, .err = err};
    struct err broken = {0};
    enum err_kind kind = json_in_scan(text, on_list_token, &s, &broken);

    if (s.kind != ERR_OK)
        return s.kind;
    if (kind != ERR_OK)
        return err_set(err, ERR_PROTOCOL, 0, "%s", broken.text);
    if (!s.is_object)
        return err_set(err, ERR_PROTOCOL, 0, "no JSON object");
    if (s.is_list)
        return ERR_OK;
    struct object *o = NULL;
    kind = read_object(text, &o, err);
    if (kind == ERR_OK)
        take(arg, o);
    object_unref(&o);
    return kind;
}
