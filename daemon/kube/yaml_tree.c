/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/yaml_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_out.h"

/* A kubeconfig has a few kilobytes. libyaml takes time that grows with the square of depth and
 * anchors, and a hundred bytes for each value, so all of these are bounded. */
enum { TEXT_MAX = 1024 * 1024, DEPTH_MAX = 32, ANCHORS_MAX = 100, VALUES_MAX = 100000 };

/* The JSON goes into an environment variable, which Linux limits to 128 KiB, beside other things. A
 * limit is also needed for the time: aliases can make a small document a huge one. */
enum { JSON_MAX = 64 * 1024 };

struct yaml_tree {
    const char *path;
    yaml_document_t doc;
};

static const yaml_node_t *node_of(const struct yaml_tree *t, int node)
{
    return node > 0 ? &t->doc.nodes.start[node - 1] : NULL;
}

/* ---- Errors */

static enum err_kind fail_line(const char *path, size_t line, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static enum err_kind fail_line(const char *path, size_t line, struct err *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(err, ERR_CONFIG, 0, "%s:%zu: %s", path, line, text);
}

enum err_kind yaml_tree_fail(const struct yaml_tree *t, int node, struct err *err, const char *fmt,
                             ...)
{
    const yaml_node_t *at = node_of(t, node);
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return fail_line(t->path, at != NULL ? at->start_mark.line + 1 : 1, err, "%s", text);
}

/* ---- The text */

/* Counts over the whole file, against the limits at the top. */
struct shape {
    int depth;
    int anchors;
    int values;
    int documents;
};

static bool has_anchor(const yaml_event_t *e)
{
    if (e->type == YAML_SCALAR_EVENT)
        return e->data.scalar.anchor != NULL;
    if (e->type == YAML_SEQUENCE_START_EVENT)
        return e->data.sequence_start.anchor != NULL;
    return e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor != NULL;
}

/* Counts one event of the parser. The nesting and anchors are found before yaml_parser_load()
 * builds anything from them. */
static enum err_kind check_event(const char *path, const yaml_event_t *e, struct shape *s,
                                 struct err *err)
{
    size_t line = e->start_mark.line + 1;

    if (e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT)
        s->depth++;
    if (e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT)
        s->depth--;
    if (e->type == YAML_DOCUMENT_START_EVENT)
        s->documents++;
    if (has_anchor(e))
        s->anchors++;
    s->values++;
    if (s->documents > 1)
        return fail_line(path, line, err, "a second document begins here: keep one per file");
    if (s->depth > DEPTH_MAX || s->anchors > ANCHORS_MAX || s->values > VALUES_MAX)
        return fail_line(path, line, err,
                         "too deep, too many anchors or too many values for a kubeconfig");
    return ERR_OK;
}

/* libyaml gives no problem when it had no memory. */
static enum err_kind fail_yaml(const char *path, const yaml_parser_t *parser, struct err *err)
{
    return fail_line(path, parser->problem_mark.line + 1, err, "bad YAML: %s",
                     parser->problem != NULL ? parser->problem : "out of memory");
}

/* Goes through the whole text without keeping anything, before the document is built. */
static enum err_kind check_shape(const char *path, yaml_parser_t *parser, struct err *err)
{
    struct shape shape = {0};
    enum err_kind kind = ERR_OK;
    bool ended = false;

    while (kind == ERR_OK && !ended) {
        yaml_event_t event;

        if (yaml_parser_parse(parser, &event) == 0)
            return fail_yaml(path, parser, err);
        kind = check_event(path, &event, &shape, err);
        ended = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_SCALAR_EVENT)
            mem_wipe(event.data.scalar.value, event.data.scalar.length);
        yaml_event_delete(&event);
    }
    if (kind == ERR_OK && shape.documents == 0)
        kind = fail_line(path, 1, err, "the file is empty");
    return kind;
}

static enum err_kind load(const char *path, yaml_parser_t *parser, struct yaml_tree **out,
                          struct err *err)
{
    yaml_document_t doc;

    if (yaml_parser_load(parser, &doc) == 0)
        return fail_yaml(path, parser, err);
    *out = MEM_NEW(struct yaml_tree, .path = path, .doc = doc);
    return ERR_OK;
}

enum err_kind yaml_tree_read(struct str text, const char *path, struct yaml_tree **out,
                             struct err *err)
{
    enum err_kind kind = ERR_OK;

    *out = NULL;
    if (text.n > TEXT_MAX)
        return err_set(err, ERR_CONFIG, 0, "%s: is larger than 1MiB: that is no kubeconfig", path);
    /* A parser cannot be rewound, so each pass has its own: check_shape() first, then load(). */
    for (int pass = 0; pass < 2 && kind == ERR_OK; pass++) {
        yaml_parser_t parser;

        ensure(yaml_parser_initialize(&parser) != 0); /* fails only without memory */
        yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
        kind = pass == 0 ? check_shape(path, &parser, err) : load(path, &parser, out, err);
        yaml_parser_delete(&parser);
    }
    return kind;
}

/* libyaml frees without wiping. */
void yaml_tree_destroy(struct yaml_tree **tp)
{
    struct yaml_tree *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    for (yaml_node_t *node = t->doc.nodes.start; node < t->doc.nodes.top; node++)
        if (node->type == YAML_SCALAR_NODE)
            mem_wipe(node->data.scalar.value, node->data.scalar.length);
    yaml_document_delete(&t->doc);
    free(t);
}

/* ---- Nodes */

/* Nodes are numbered from 1, in the order in which they begin. */
int yaml_tree_root(const struct yaml_tree *t)
{
    (void)t;
    return 1;
}

bool yaml_tree_is_map(const struct yaml_tree *t, int node)
{
    const yaml_node_t *n = node_of(t, node);

    return n != NULL && n->type == YAML_MAPPING_NODE;
}

static bool is_scalar(const struct yaml_tree *t, int node)
{
    const yaml_node_t *n = node_of(t, node);

    return n != NULL && n->type == YAML_SCALAR_NODE;
}

/* A word without quotes, which may stand for more than its letters. */
static bool is_plain(const struct yaml_tree *t, int node)
{
    return is_scalar(t, node) && node_of(t, node)->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

struct str yaml_tree_bytes(const struct yaml_tree *t, int node)
{
    const yaml_node_t *n = node_of(t, node);

    if (!is_scalar(t, node))
        return str_of(NULL, 0);
    return str_of((const char *)n->data.scalar.value, n->data.scalar.length);
}

/* Does the node stand for one of these words, which end with NULL? Quoted words are strings. */
static bool is_word(const struct yaml_tree *t, int node, const char *const *words)
{
    for (; *words != NULL && is_plain(t, node); words++)
        if (str_is(yaml_tree_bytes(t, node), *words))
            return true;
    return false;
}

/* The words of YAML 1.1, as kubectl reads them. */
static bool is_null(const struct yaml_tree *t, int node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};

    return is_word(t, node, words);
}

static bool is_true(const struct yaml_tree *t, int node)
{
    static const char *const words[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                        "y",    "Y",    "on",   "On",  "ON",  NULL};

    return is_word(t, node, words);
}

static bool is_false(const struct yaml_tree *t, int node)
{
    static const char *const words[] = {"false", "False", "FALSE", "no",  "No",  "NO",
                                        "n",     "N",     "off",   "Off", "OFF", NULL};

    return is_word(t, node, words);
}

/* An empty string counts as not given, too, as it does for client-go. */
static bool is_given(const struct yaml_tree *t, int node)
{
    return !is_null(t, node) && (!is_scalar(t, node) || yaml_tree_bytes(t, node).n > 0);
}

/* Fails if the key of entry i is in an entry before it. */
static enum err_kind check_twin(const struct yaml_tree *t, int map, size_t i, struct err *err)
{
    int key;
    int value;

    yaml_tree_entry(t, map, i, &key, &value);
    for (size_t k = 0; k < i; k++) {
        int other;

        yaml_tree_entry(t, map, k, &other, &value);
        if (is_scalar(t, other) && str_eq(yaml_tree_bytes(t, other), yaml_tree_bytes(t, key)))
            return yaml_tree_fail(t, key, err, "%.*s is there twice",
                                  STR_ARG(yaml_tree_bytes(t, key)));
    }
    return ERR_OK;
}

/* A merge key stands for the keys of another mapping: to pass over it would lose these. */
static bool is_merge(const struct yaml_tree *t, int key)
{
    return is_plain(t, key) && str_is(yaml_tree_bytes(t, key), "<<");
}

static enum err_kind fail_merge(const struct yaml_tree *t, int key, struct err *err)
{
    return yaml_tree_fail(t, key, err, "merge keys (<<) are not supported: write it out");
}

enum err_kind yaml_tree_find(const struct yaml_tree *t, int map, const char *key, int *value,
                             struct err *err)
{
    *value = 0;
    if (!yaml_tree_is_map(t, map))
        return yaml_tree_fail(t, map, err, "a mapping with %s was expected", key);
    for (size_t i = 0; i < yaml_tree_count(t, map); i++) {
        int name;
        int found;

        yaml_tree_entry(t, map, i, &name, &found);
        if (is_merge(t, name))
            return fail_merge(t, name, err);
        if (!is_scalar(t, name) || !str_is(yaml_tree_bytes(t, name), key))
            continue;
        if (check_twin(t, map, i, err) != ERR_OK)
            return ERR_CONFIG;
        *value = is_given(t, found) ? found : 0;
    }
    return ERR_OK;
}

enum err_kind yaml_tree_find_text(const struct yaml_tree *t, int map, const char *key, int *value,
                                  struct err *err)
{
    enum err_kind kind = yaml_tree_find(t, map, key, value, err);

    if (kind != ERR_OK || *value == 0)
        return kind;
    if (!is_scalar(t, *value))
        return yaml_tree_fail(t, *value, err, "%s must be a string", key);
    /* A NUL byte would cut the C string off without a word. */
    if (memchr(yaml_tree_bytes(t, *value).p, '\0', yaml_tree_bytes(t, *value).n) != NULL)
        return yaml_tree_fail(t, *value, err, "%s holds a NUL byte", key);
    return ERR_OK;
}

enum err_kind yaml_tree_copy_text(const struct yaml_tree *t, int map, const char *key, char **out,
                                  struct err *err)
{
    int node;
    enum err_kind kind = yaml_tree_find_text(t, map, key, &node, err);

    if (kind == ERR_OK && node != 0)
        *out = mem_strndup(yaml_tree_bytes(t, node).p, yaml_tree_bytes(t, node).n);
    return kind;
}

enum err_kind yaml_tree_find_bool(const struct yaml_tree *t, int map, const char *key, bool *out,
                                  struct err *err)
{
    int node;
    enum err_kind kind = yaml_tree_find(t, map, key, &node, err);

    if (kind != ERR_OK || node == 0)
        return kind;
    if (!is_true(t, node) && !is_false(t, node))
        return yaml_tree_fail(t, node, err, "%s must be true or false, without quotes", key);
    *out = is_true(t, node);
    return ERR_OK;
}

enum err_kind yaml_tree_find_list(const struct yaml_tree *t, int map, const char *key, int *list,
                                  struct err *err)
{
    enum err_kind kind = yaml_tree_find(t, map, key, list, err);

    if (kind == ERR_OK && *list != 0 && node_of(t, *list)->type != YAML_SEQUENCE_NODE)
        return yaml_tree_fail(t, *list, err, "%s must be a list", key);
    return kind;
}

size_t yaml_tree_count(const struct yaml_tree *t, int node)
{
    const yaml_node_t *n = node_of(t, node);

    if (n != NULL && n->type == YAML_SEQUENCE_NODE)
        return (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
    if (n != NULL && n->type == YAML_MAPPING_NODE)
        return (size_t)(n->data.mapping.pairs.top - n->data.mapping.pairs.start);
    return 0;
}

int yaml_tree_item(const struct yaml_tree *t, int list, size_t i)
{
    return node_of(t, list)->data.sequence.items.start[i];
}

void yaml_tree_entry(const struct yaml_tree *t, int map, size_t i, int *key, int *value)
{
    const yaml_node_pair_t *pair = &node_of(t, map)->data.mapping.pairs.start[i];

    *key = pair->key;
    *value = pair->value;
}

/* ---- JSON */

enum number { NO_NUMBER, JSON_NUMBER, OTHER_NUMBER };

static size_t digits(const char *p)
{
    return strspn(p, "0123456789");
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? (RFC 8259 6) */
static bool is_json_number(const char *p)
{
    p += *p == '-' ? 1 : 0;
    if (digits(p) == 0 || (*p == '0' && digits(p) > 1))
        return false;
    p += digits(p);
    if (*p == '.') {
        p++;
        if (digits(p) == 0)
            return false;
        p += digits(p);
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-' ? 1 : 0;
        if (digits(p) == 0)
            return false;
        p += digits(p);
    }
    return *p == '\0';
}

/* YAML 1.1 knows more forms of numbers than JSON: 0x1f, 0b1, 017, 1_000, +1, .5, .inf. They are
 * told from words such as 10.0.0.1 and 2030-01-01. */
static bool is_other_number(const char *p)
{
    char plain[64];
    size_t n = 0;
    char *end;

    p += *p == '-' || *p == '+' ? 1 : 0;
    if (strcasecmp(p, ".inf") == 0 || strcasecmp(p, ".nan") == 0)
        return true;
    if (digits(p) == 0 && (*p != '.' || digits(p + 1) == 0))
        return false;
    for (; *p != '\0' && n < sizeof(plain) - 1; p++)
        if (*p != '_')
            plain[n++] = *p;
    plain[n] = '\0';
    if (plain[0] == '0' && (plain[1] == 'b' || plain[1] == 'o') && plain[2] != '\0')
        return plain[2 + digits(plain + 2)] == '\0';
    strtod(plain, &end);
    return *end == '\0';
}

static enum number number_of(struct str bytes)
{
    char text[64];

    if (bytes.n == 0 || bytes.n >= sizeof(text))
        return NO_NUMBER;
    memcpy(text, bytes.p, bytes.n);
    text[bytes.n] = '\0';
    if (strlen(text) != bytes.n)
        return NO_NUMBER;
    if (is_json_number(text))
        return JSON_NUMBER;
    return is_other_number(text) ? OTHER_NUMBER : NO_NUMBER;
}

static enum err_kind put_node(const struct yaml_tree *t, int node, struct json_out *j, int depth,
                              struct err *err);

/* A word with a tag (!x) has the type of the tag, which JSON does not have. */
static bool has_tag(const struct yaml_tree *t, int node)
{
    const char *tag = (const char *)node_of(t, node)->tag;

    return tag != NULL && strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, YAML_SEQ_TAG) != 0 &&
           strcmp(tag, YAML_MAP_TAG) != 0;
}

static enum err_kind put_scalar(const struct yaml_tree *t, int node, struct json_out *j,
                                struct err *err)
{
    struct str bytes = yaml_tree_bytes(t, node);
    enum number number = is_plain(t, node) ? number_of(bytes) : NO_NUMBER;

    if (number == OTHER_NUMBER)
        return yaml_tree_fail(t, node, err,
                              "JSON does not have this form of a number: write it in decimal, or "
                              "in quotes if it is a string");
    if (is_null(t, node))
        json_out_null(j);
    else if (is_true(t, node) || is_false(t, node))
        json_out_bool(j, is_true(t, node));
    else if (number == JSON_NUMBER)
        buf_append_str(json_out_raw(j), bytes);
    else
        json_out_str(j, bytes);
    return ERR_OK;
}

/* The name of a member. As in kubectl, a word for a truth value stands for true or false. */
static enum err_kind put_name(const struct yaml_tree *t, int map, size_t i, int key,
                              struct json_out *j, struct err *err)
{
    char *name = mem_strndup(yaml_tree_bytes(t, key).p, yaml_tree_bytes(t, key).n);
    enum err_kind kind = ERR_OK;

    if (!is_scalar(t, key) || is_null(t, key) || strlen(name) != yaml_tree_bytes(t, key).n)
        kind = yaml_tree_fail(t, key, err, "the name of a member must be a string");
    else if (is_merge(t, key))
        kind = fail_merge(t, key, err);
    else
        kind = check_twin(t, map, i, err);
    if (kind == ERR_OK)
        json_out_key(j, is_true(t, key) ? "true" : is_false(t, key) ? "false" : name);
    free(name);
    return kind;
}

static enum err_kind put_map(const struct yaml_tree *t, int map, struct json_out *j, int depth,
                             struct err *err)
{
    enum err_kind kind = ERR_OK;

    json_out_open(j, '{');
    for (size_t i = 0; i < yaml_tree_count(t, map) && kind == ERR_OK; i++) {
        int key;
        int value;

        yaml_tree_entry(t, map, i, &key, &value);
        kind = put_name(t, map, i, key, j, err);
        if (kind == ERR_OK)
            kind = put_node(t, value, j, depth + 1, err);
    }
    json_out_close(j, '}');
    return kind;
}

static enum err_kind put_list(const struct yaml_tree *t, int list, struct json_out *j, int depth,
                              struct err *err)
{
    enum err_kind kind = ERR_OK;

    json_out_open(j, '[');
    for (size_t i = 0; i < yaml_tree_count(t, list) && kind == ERR_OK; i++)
        kind = put_node(t, yaml_tree_item(t, list, i), j, depth + 1, err);
    json_out_close(j, ']');
    return kind;
}

/* Aliases are followed, so a node may contain itself: both limits end that. */
static enum err_kind put_node(const struct yaml_tree *t, int node, struct json_out *j, int depth,
                              struct err *err)
{
    if (depth > DEPTH_MAX || j->buf->len > JSON_MAX)
        return yaml_tree_fail(t, node, err,
                              "this is deeper than %d levels or larger than %d KiB as JSON",
                              DEPTH_MAX, JSON_MAX / 1024);
    if (has_tag(t, node))
        return yaml_tree_fail(t, node, err, "tags (!) are not supported here");
    if (yaml_tree_is_map(t, node))
        return put_map(t, node, j, depth, err);
    if (is_scalar(t, node))
        return put_scalar(t, node, j, err);
    return put_list(t, node, j, depth, err);
}

enum err_kind yaml_tree_put_json(const struct yaml_tree *t, int node, struct buf *out,
                                 struct err *err)
{
    struct buf text = {0};
    struct json_out j = json_out_to(&text);
    enum err_kind kind = put_node(t, node, &j, 0, err);

    if (kind == ERR_OK && text.len > JSON_MAX)
        kind = yaml_tree_fail(t, node, err, "this is larger than %d KiB as JSON", JSON_MAX / 1024);
    if (kind == ERR_OK)
        buf_append_str(out, buf_str(&text));
    buf_free(&text);
    return kind;
}
