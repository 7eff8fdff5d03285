/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/reader.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

/* One object or array on the path, and its member or element that comes now. */
struct step {
    bool array;
    size_t next;     /* array: number of the next element */
    struct buf name; /* the name of the member, or the number of the element as text */
};

struct reader {
    struct step steps[READER_DEPTH]; /* the outermost container first */
    reader_cb *cb;
    void *arg;
};

static void emit(const struct reader *r, const struct json_token *t)
{
    struct leaf leaf = {.depth = t->depth, .type = t->type, .text = t->text};

    for (size_t i = 0; i < t->depth; i++)
        leaf.path[i] = buf_str(&r->steps[i].name);
    r->cb(r->arg, &leaf);
}

static void set_name(struct step *s, struct str name)
{
    buf_clear(&s->name);
    buf_append_str(&s->name, name);
}

/* A value comes: in an array the number of the element becomes its name. */
static void count(struct reader *r, const struct json_token *t)
{
    struct step *s = t->depth > 0 ? &r->steps[t->depth - 1] : NULL;
    char number[24];

    if (s == NULL || !s->array)
        return;
    snprintf(number, sizeof(number), "%zu", s->next++);
    set_name(s, str_c(number));
}

/* A container that begins at the greatest depth needs no step: its values are passed over. */
static bool on_token(void *arg, const struct json_token *t)
{
    struct reader *r = arg;

    if (t->depth > READER_DEPTH || t->type == JSON_OBJECT_END || t->type == JSON_ARRAY_END)
        return true;
    if (t->type == JSON_KEY) {
        set_name(&r->steps[t->depth - 1], t->text);
        return true;
    }
    count(r, t);
    if (t->type != JSON_OBJECT && t->type != JSON_ARRAY) {
        emit(r, t);
    } else if (t->depth < READER_DEPTH) {
        r->steps[t->depth].array = t->type == JSON_ARRAY;
        r->steps[t->depth].next = 0;
    }
    return true;
}

enum err_kind reader_scan(struct str json, reader_cb *cb, void *arg, struct err *err)
{
    struct reader r = {.cb = cb, .arg = arg};
    enum err_kind kind = json_in_scan(json, on_token, &r, err);

    for (size_t i = 0; i < READER_DEPTH; i++)
        buf_free(&r.steps[i].name);
    return kind;
}

/* A dot ends a name, so no member with a dot in its name can be asked for; no caller needs one. */
bool reader_leads(const struct leaf *leaf, size_t from, const char *dotted)
{
    size_t i = from;

    for (; i < leaf->depth; i++) {
        size_t n = strcspn(dotted, ".");

        if (!str_eq(leaf->path[i], str_of(dotted, n)))
            return false;
        dotted += n;
        if (*dotted == '\0')
            return i + 1 == leaf->depth;
        dotted++;
    }
    return false;
}

uint64_t reader_whole(const struct leaf *leaf)
{
    struct str number = leaf->type == JSON_NUMBER ? leaf->text : str_c("");
    uint64_t value;

    str_take_u64(&number, &value);
    return value;
}
