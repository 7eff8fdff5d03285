/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_in.h"

enum { MAX_STEPS = 32, MAX_INDEX = 1000000 };

struct step {
    enum json_path_kind kind;
    char *name;
    size_t name_n;
    size_t index;
    size_t at; /* where it begins in the text */
};

struct json_path {
    char *text;
    size_t count;
    struct step steps[MAX_STEPS];
};

struct parser {
    const char *at;
    struct json_path *path;
    struct err *err;
};

static enum err_kind complain(const struct parser *p, const char *expected)
{
    return err_set(p->err, ERR_CONFIG, 0, "path '%s': at character %zu: expected %s", p->path->text,
                   (size_t)(p->at - p->path->text) + 1, expected);
}

static struct step *add_step(struct parser *p, enum json_path_kind kind)
{
    struct step *s = &p->path->steps[p->path->count++];

    s->kind = kind;
    return s;
}

static void add_member(struct parser *p, struct buf *name)
{
    struct step *s = add_step(p, JSON_PATH_MEMBER);

    s->name = mem_strndup(buf_cstr(name), name->len);
    s->name_n = name->len;
}

/* name or *, up to '.', '[' or the end. */
static enum err_kind parse_plain(struct parser *p)
{
    struct buf name = {0};
    enum err_kind kind = ERR_OK;

    if (*p->at == '*' && strchr(".[", p->at[1]) != NULL) {
        p->at++;
        add_step(p, JSON_PATH_ALL);
        return ERR_OK;
    }
    while (strchr(".[]{}*'\" \t", *p->at) == NULL) {
        if (*p->at == '\\' && *++p->at == '\0')
            break;
        buf_putc(&name, *p->at++);
    }
    if (name.len == 0)
        kind = complain(p, *p->at == '{' ? "the path without braces" : "a member name or *");
    else if (strchr(".[", *p->at) == NULL)
        kind = complain(p, "'.', '[' or the end (quote other names: ['a b'])");
    else
        add_member(p, &name);
    buf_free(&name);
    return kind;
}

/* Behind the opening quote, up to the closing one. */
static enum err_kind parse_quoted(struct parser *p, char quote)
{
    struct buf name = {0};

    while (*p->at != '\0' && *p->at != quote) {
        if (*p->at == '\\' && (p->at[1] == quote || p->at[1] == '\\'))
            p->at++;
        buf_putc(&name, *p->at++);
    }
    if (*p->at == '\0') {
        buf_free(&name);
        return complain(p, quote == '"' ? "a closing \"" : "a closing '");
    }
    p->at++;
    add_member(p, &name);
    buf_free(&name);
    return ERR_OK;
}

static enum err_kind parse_index(struct parser *p)
{
    size_t index = 0;

    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        index = index * 10 + (size_t)(*p->at - '0');
        if (index > MAX_INDEX)
            return complain(p, "a smaller index");
    }
    add_step(p, JSON_PATH_INDEX)->index = index;
    return ERR_OK;
}

/* Behind the '['. */
static enum err_kind parse_bracket(struct parser *p)
{
    enum err_kind kind = ERR_OK;
    char c = *p->at;

    if (c == '\'' || c == '"') {
        p->at++;
        kind = parse_quoted(p, c);
    } else if (c == '*') {
        p->at++;
        add_step(p, JSON_PATH_ALL);
    } else if (c >= '0' && c <= '9') {
        kind = parse_index(p);
    } else {
        return complain(p, "an index, * or a quoted name");
    }
    if (kind == ERR_OK && *p->at != ']')
        return complain(p, "']'");
    p->at++;
    return kind;
}

static enum err_kind parse_steps(struct parser *p)
{
    enum err_kind kind = ERR_OK;

    if (*p->at == '.')
        p->at++;
    p->path->steps[0].at = (size_t)(p->at - p->path->text);
    if (*p->at != '[')
        kind = parse_plain(p);
    while (kind == ERR_OK && *p->at != '\0') {
        if (p->path->count == MAX_STEPS)
            return complain(p, "the end: too many steps");
        p->path->steps[p->path->count].at = (size_t)(p->at - p->path->text);
        if (*p->at == '[') {
            p->at++;
            kind = parse_bracket(p);
        } else if (*p->at == '.') {
            p->at++;
            kind = parse_plain(p);
        } else {
            kind = complain(p, "'.', '[' or the end");
        }
    }
    return kind;
}

enum err_kind json_path_parse(const char *text, struct json_path **out, struct err *err)
{
    struct json_path *path = MEM_NEW(struct json_path, .text = mem_strdup(text));
    struct parser p = {.at = path->text, .path = path, .err = err};
    enum err_kind kind = parse_steps(&p);

    if (kind != ERR_OK)
        json_path_destroy(&path);
    *out = path;
    return kind;
}

void json_path_destroy(struct json_path **p)
{
    if (*p == NULL)
        return;
    for (size_t i = 0; i < (*p)->count; i++)
        free((*p)->steps[i].name);
    free((*p)->text);
    free(*p);
    *p = NULL;
}

const char *json_path_text(const struct json_path *p)
{
    return p->text;
}

size_t json_path_length(const struct json_path *p)
{
    return p->count;
}

struct json_path_step json_path_step(const struct json_path *p, size_t i)
{
    const struct step *s = &p->steps[i];

    ensure(i < p->count);
    return (struct json_path_step){
        .kind = s->kind,
        .name = str_of(s->name, s->name_n),
        .index = s->index,
        .character = s->at + 1,
    };
}

/* ---- Selecting: step i of a path is about what stands at depth i + 1. */

struct range {
    size_t path;
    size_t from;
    size_t to;
};

struct level {
    bool array;
    size_t next; /* index of the next element */
};

struct walk {
    const struct json_path *path;
    unsigned matched; /* leading steps that the way to the current value fulfils */
    size_t from;      /* of the selected container that is open */
};

struct selection {
    struct str text;
    size_t last_end;
    unsigned deepest;
    size_t n;
    struct walk *walks;
    struct level levels[MAX_STEPS + 1]; /* [d]: the container of what stands at depth d */
    struct range *ranges;
    size_t ranges_n;
    size_t ranges_cap;
};

static void add_range(struct selection *s, size_t path, size_t from, size_t to)
{
    if (s->ranges_n == s->ranges_cap) {
        s->ranges_cap = s->ranges_cap > 0 ? 2 * s->ranges_cap : 32;
        s->ranges = mem_realloc(s->ranges, s->ranges_cap * sizeof(*s->ranges));
    }
    s->ranges[s->ranges_n++] = (struct range){.path = path, .from = from, .to = to};
}

/* Where the token behind the last one begins. */
static size_t token_start(const struct selection *s)
{
    size_t i = s->last_end;

    while (strchr(" \t\r\n,:", s->text.p[i]) != NULL)
        i++;
    return i;
}

static bool fulfils(const struct step *step, const struct str *key, size_t index)
{
    switch (step->kind) {
    case JSON_PATH_MEMBER:
        return key != NULL && str_eq(*key, str_of(step->name, step->name_n));
    case JSON_PATH_INDEX:
        return key == NULL && step->index == index;
    case JSON_PATH_ALL:
        break;
    }
    return true;
}

/* The way leads through a member (key) or an element (index) at depth, depth >= 1. */
static void go(struct selection *s, unsigned depth, const struct str *key, size_t index)
{
    for (size_t i = 0; i < s->n; i++) {
        struct walk *w = &s->walks[i];

        if (depth > w->path->count || w->matched + 1 < depth)
            continue;
        w->matched = fulfils(&w->path->steps[depth - 1], key, index) ? depth : depth - 1;
    }
}

static void on_value(struct selection *s, const struct json_token *t)
{
    bool container = t->type == JSON_OBJECT || t->type == JSON_ARRAY;

    if (t->depth > 0 && s->levels[t->depth].array)
        go(s, t->depth, NULL, s->levels[t->depth].next++);
    if (container && t->depth < s->deepest)
        s->levels[t->depth + 1] = (struct level){.array = t->type == JSON_ARRAY};
    if (t->type == JSON_NULL)
        return;
    for (size_t i = 0; i < s->n; i++) {
        struct walk *w = &s->walks[i];

        if (w->matched != t->depth || w->path->count != t->depth)
            continue;
        w->from = token_start(s);
        if (!container)
            add_range(s, i, w->from, (size_t)t->end);
    }
}

static void on_end(struct selection *s, const struct json_token *t)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct walk *w = &s->walks[i];

        if (w->matched == t->depth && w->path->count == t->depth)
            add_range(s, i, w->from, (size_t)t->end);
    }
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct selection *s = arg;

    if (t->depth <= s->deepest) {
        if (t->type == JSON_KEY)
            go(s, t->depth, &t->text, 0);
        else if (t->type == JSON_OBJECT_END || t->type == JSON_ARRAY_END)
            on_end(s, t);
        else
            on_value(s, t);
    }
    s->last_end = (size_t)t->end;
    return true;
}

static void put_selected(const struct selection *s, size_t path, struct buf *out)
{
    buf_printf(out, "%zu\n", path);
    for (size_t i = 0; i < s->ranges_n; i++) {
        const struct range *r = &s->ranges[i];

        if (r->path != path)
            continue;
        buf_append(out, s->text.p + r->from, r->to - r->from);
        buf_putc(out, '\n');
    }
}

enum err_kind json_path_select(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err)
{
    struct selection s = {.text = text, .n = n, .walks = mem_array(n, sizeof(*s.walks))};

    for (size_t i = 0; i < n; i++) {
        s.walks[i].path = paths[i];
        if (paths[i]->count > s.deepest)
            s.deepest = (unsigned)paths[i]->count;
    }
    enum err_kind kind = json_in_scan(text, on_token, &s, err);
    for (size_t i = 0; kind == ERR_OK && i < n; i++)
        put_selected(&s, i, out);
    free(s.walks);
    free(s.ranges);
    return kind;
}
