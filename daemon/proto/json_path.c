/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_in.h"

enum { MAX_NAME = 1024 }; /* bytes; for json_path_put_member() */

struct json_path {
    char *text;
    char *names; /* of the members, one behind the other: together never longer than the text */
    size_t count;
    struct json_path_step steps[JSON_PATH_MAX_STEPS];
};

struct parser {
    const char *at;
    char *name; /* where the name of the next member goes */
    struct json_path *path;
    struct err *err;
};

/* Says at which character the parser stopped, counted from 1. */
static enum err_kind complain(const struct parser *p, const char *expected)
{
    return err_set(p->err, ERR_CONFIG, 0, "path '%s': at character %zu: expected %s", p->path->text,
                   (size_t)(p->at - p->path->text) + 1, expected);
}

static struct json_path_step *add_step(struct parser *p, enum json_path_kind kind)
{
    struct json_path_step *s = &p->path->steps[p->path->count++];

    s->kind = kind;
    return s;
}

/* The name was written to p->name, up to end. */
static void add_member(struct parser *p, char *end)
{
    add_step(p, JSON_PATH_MEMBER)->name = str_of(p->name, (size_t)(end - p->name));
    p->name = end;
}

/* Parses a name or *, up to '.', '[' or the end. */
static enum err_kind parse_plain(struct parser *p)
{
    char *end = p->name;

    /* strchr() finds the NUL at the end of the text, too, here and below. */
    if (*p->at == '*' && strchr(".[", p->at[1]) != NULL) {
        p->at++;
        add_step(p, JSON_PATH_ALL);
        return ERR_OK;
    }
    while (strchr(".[]{}*'\" \t", *p->at) == NULL) {
        if (*p->at == '\\' && *++p->at == '\0')
            break;
        *end++ = *p->at++;
    }
    if (end == p->name)
        return complain(p, *p->at == '{' ? "the path without braces" : "a member name or *");
    if (strchr(".[", *p->at) == NULL)
        return complain(p, "'.', '[' or the end (quote other names: ['a b'])");
    add_member(p, end);
    return ERR_OK;
}

/* Parses a name behind its opening quote, up to the closing one. A backslash escapes only the quote
 * and itself. */
static enum err_kind parse_quoted(struct parser *p, char quote)
{
    char *end = p->name;

    while (*p->at != '\0' && *p->at != quote) {
        if (*p->at == '\\' && (p->at[1] == quote || p->at[1] == '\\'))
            p->at++;
        *end++ = *p->at++;
    }
    if (*p->at == '\0')
        return complain(p, quote == '"' ? "a closing \"" : "a closing '");
    p->at++;
    add_member(p, end);
    return ERR_OK;
}

static enum err_kind parse_index(struct parser *p)
{
    size_t index = 0;

    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        index = index * 10 + (size_t)(*p->at - '0');
        if (index > JSON_PATH_MAX_INDEX)
            return complain(p, "a smaller index");
    }
    add_step(p, JSON_PATH_INDEX)->index = index;
    return ERR_OK;
}

/* Parses the inside of brackets, behind the '['. */
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

/* Only the first step may stand without a '.' or '[' before it. Each step notes where it begins, so
 * that a path can be cut to its first steps (proto/path_list). */
static enum err_kind parse_steps(struct parser *p)
{
    enum err_kind kind = ERR_OK;

    if (*p->at == '.')
        p->at++;
    p->path->steps[0].character = (size_t)(p->at - p->path->text) + 1;
    if (*p->at != '[')
        kind = parse_plain(p);
    while (kind == ERR_OK && *p->at != '\0') {
        /* Each turn adds one step, so steps[count] is in bounds. */
        if (p->path->count == JSON_PATH_MAX_STEPS)
            return complain(p, "the end: too many steps");
        p->path->steps[p->path->count].character = (size_t)(p->at - p->path->text) + 1;
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
    struct json_path *path =
        MEM_NEW(struct json_path, .text = mem_strdup(text), .names = mem_alloc(strlen(text)));
    struct parser p = {.at = path->text, .name = path->names, .path = path, .err = err};
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
    free((*p)->names);
    free((*p)->text);
    free(*p);
    *p = NULL;
}

size_t json_path_length(const struct json_path *p)
{
    return p->count;
}

struct json_path_step json_path_step(const struct json_path *p, size_t i)
{
    ensure(i < p->count);
    return p->steps[i];
}

/* Names that json_path_put_member() writes without quotes; parse_plain() accepts more. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool all_plain(struct str name)
{
    size_t i = 0;

    while (i < name.n && is_plain(name.p[i]))
        i++;
    return name.n > 0 && i == name.n;
}

static bool has_control(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if ((unsigned char)name.p[i] < 0x20 || name.p[i] == 0x7f)
            return true;
    }
    return false;
}

static void put_quoted(struct buf *out, struct str name)
{
    buf_puts(out, "['");
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '\'' || name.p[i] == '\\')
            buf_putc(out, '\\');
        buf_putc(out, name.p[i]);
    }
    buf_puts(out, "']");
}

bool json_path_put_member(struct buf *out, struct str name)
{
    if (name.n > MAX_NAME || has_control(name))
        return false;
    if (all_plain(name)) {
        if (out->len > 0)
            buf_putc(out, '.');
        buf_append_str(out, name);
    } else {
        put_quoted(out, name);
    }
    return true;
}

bool json_path_put_index(struct buf *out, size_t index)
{
    if (index > JSON_PATH_MAX_INDEX)
        return false;
    buf_printf(out, "[%zu]", index);
    return true;
}

/* ---- Selecting. Step i of a path is about the values at depth i + 1. */

struct level {
    bool array;
    size_t next; /* index of the next element, if it is an array */
};

struct walk {
    const struct json_path *path;
    struct buf *out;
    size_t count;     /* number of values in out */
    unsigned matched; /* number of leading steps that lead to the current value */
    size_t from;      /* where the selected value begins in the text */
};

/* Takes one selected value: its token (of an object or array the token of its end) and its
 * bytes. */
typedef void put_fn(struct walk *w, const struct json_token *t, struct str bytes);

struct selection {
    struct str text;
    put_fn *put;
    size_t last_end;  /* where the last token ends in text */
    unsigned deepest; /* steps of the longest path: deeper tokens are skipped */
    size_t n;
    struct walk *walks;
    struct level levels[JSON_PATH_MAX_STEPS + 1]; /* [d]: the container of the values at depth d */
};

/* Emits the value from w->from to the end of token t. */
static void put(const struct selection *s, struct walk *w, const struct json_token *t)
{
    s->put(w, t, str_of(s->text.p + w->from, (size_t)t->end - w->from));
    w->count++;
}

/* Where the current token begins: between two tokens there are only white space, ',' and ':'. */
static size_t token_start(const struct selection *s)
{
    size_t i = s->last_end;

    while (strchr(" \t\r\n,:", s->text.p[i]) != NULL)
        i++;
    return i;
}

/* The walk enters a member (key) or an element (index) at depth >= 1: each path notes how many of
 * its steps match now. A path that does not match at a lower depth cannot match here. */
static void go(struct selection *s, unsigned depth, const struct str *key, size_t index)
{
    for (size_t i = 0; i < s->n; i++) {
        struct walk *w = &s->walks[i];

        if (depth > w->path->count || w->matched + 1 < depth)
            continue;
        w->matched = json_path_fulfils(&w->path->steps[depth - 1], key, index) ? depth : depth - 1;
    }
}

/* A value begins. Elements of arrays have no key token, so go() is called here for them. */
static void on_value(struct selection *s, const struct json_token *t)
{
    bool container = t->type == JSON_OBJECT || t->type == JSON_ARRAY;

    if (t->depth > 0 && s->levels[t->depth].array)
        go(s, t->depth, NULL, s->levels[t->depth].next++);
    if (container && t->depth < s->deepest)
        s->levels[t->depth + 1] = (struct level){.array = t->type == JSON_ARRAY};
    /* null counts as absent. Its place in an array was counted above. */
    if (t->type == JSON_NULL)
        return;
    for (size_t i = 0; i < s->n; i++) {
        struct walk *w = &s->walks[i];

        if (w->matched != t->depth || w->path->count != t->depth)
            continue;
        w->from = token_start(s);
        if (!container)
            put(s, w, t);
    }
}

/* An object or array ends. matched is still the same as at its begin: values inside are deeper than
 * the path's last step. */
static void on_end(struct selection *s, const struct json_token *t)
{
    for (size_t i = 0; i < s->n; i++) {
        struct walk *w = &s->walks[i];

        if (w->matched == t->depth && w->path->count == t->depth)
            put(s, w, t);
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

/* Goes through the text once; the values that paths[i] selects go to out[i] by way of s->put. The
 * caller frees s->walks. */
static enum err_kind run(struct selection *s, const struct json_path *const *paths, struct buf *out,
                         struct err *err)
{
    s->walks = mem_array(s->n, sizeof(*s->walks));
    for (size_t i = 0; i < s->n; i++) {
        s->walks[i].path = paths[i];
        s->walks[i].out = &out[i];
        if (paths[i]->count > s->deepest)
            s->deepest = (unsigned)paths[i]->count;
    }
    return json_in_scan(s->text, on_token, s, err);
}

static void put_line(struct walk *w, const struct json_token *t, struct str bytes)
{
    (void)t;
    buf_append_str(w->out, bytes);
    buf_putc(w->out, '\n');
}

enum err_kind json_path_select(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err)
{
    struct selection s = {.text = text, .put = put_line, .n = n};
    /* The count stands before the values, but is known only behind them, so they are gathered
     * first. */
    struct buf *found = mem_array(n, sizeof(*found));
    enum err_kind kind = run(&s, paths, found, err);

    for (size_t i = 0; i < n; i++) {
        if (kind == ERR_OK) {
            buf_printf(out, "%zu\n", s.walks[i].count);
            buf_append_str(out, buf_str(&found[i]));
        }
        buf_free(&found[i]);
    }
    free(found);
    free(s.walks);
    return kind;
}

static void put_word(struct walk *w, const struct json_token *t, struct str bytes)
{
    if (w->count > 0)
        buf_putc(w->out, ' ');
    buf_append_str(w->out, t->type == JSON_STRING ? t->text : bytes);
}

static enum err_kind check_value(const struct json_path *path, struct str value, struct err *err)
{
    if (value.n == 0 || memchr(value.p, '\0', value.n) == NULL)
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0,
                   "path '%s': the value holds a NUL byte, which an environment variable cannot",
                   path->text);
}

enum err_kind json_path_values(const struct json_path *const *paths, size_t n, struct str text,
                               struct buf *out, struct err *err)
{
    struct selection s = {.text = text, .put = put_word, .n = n};
    enum err_kind kind = run(&s, paths, out, err);

    for (size_t i = 0; kind == ERR_OK && i < n; i++)
        kind = check_value(paths[i], buf_str(&out[i]), err);
    free(s.walks);
    return kind;
}
