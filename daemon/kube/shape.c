/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "kube/selector.h"
#include "kube/shape_tree.h"

/* An entry of match that was parsed; release with match_free(). */
struct match {
    struct json_path *path;
    enum shape_tree_op op;
    char *value;
};

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t");
}

/* A copy of [from, to) without the white space at its end. */
static char *trimmed(const char *from, const char *to)
{
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return mem_strndup(from, (size_t)(to - from));
}

/* The error for an entry that is wrong at this character. */
static enum err_kind complain(struct err *err, const char *text, const char *at,
                              const char *expected)
{
    return err_set(err, ERR_CONFIG, 0, "'%s': at character %zu: expected %s", text,
                   (size_t)(at - text) + 1, expected);
}

/* The quote that closes the one at this position, or the end of the text. A backslash before a
 * quote or a backslash takes it as it is. */
static const char *find_closing(const char *at)
{
    char quote = *at++;

    while (*at != '\0' && *at != quote)
        at += *at == '\\' && (at[1] == quote || at[1] == '\\') ? 2 : 1;
    return at;
}

/* The = or != behind a path, or the end of the text. An operator inside of ['...'] or behind a
 * backslash is a part of the path. */
static const char *find_operator(const char *at)
{
    while (*at != '\0' && *at != '=' && !(at[0] == '!' && at[1] == '=')) {
        if (*at == '[' && (at[1] == '\'' || at[1] == '"'))
            at = find_closing(at + 1);
        else
            at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    }
    return at;
}

/* Parses a VALUE in quotes, which may hold = and blanks. */
static enum err_kind parse_quoted(const char *text, const char *at, char **out, struct err *err)
{
    const char *end = find_closing(at);
    struct buf value = {0};
    char quote = *at++;

    if (*end == '\0')
        return complain(err, text, end, quote == '"' ? "a closing \"" : "a closing '");
    const char *rest = skip_space(end + 1);
    if (*rest != '\0')
        return complain(err, text, rest, "the end: the value is over");
    while (at < end) {
        if (*at == '\\' && (at[1] == quote || at[1] == '\\'))
            at++;
        buf_putc(&value, *at++);
    }
    *out = mem_strdup(buf_cstr(&value));
    buf_free(&value);
    return ERR_OK;
}

/* Parses a VALUE. One without quotes must not hold =, as PATH==VALUE would otherwise look for the
 * value "=VALUE". */
static enum err_kind parse_value(const char *text, const char *at, char **out, struct err *err)
{
    at = skip_space(at);
    if (*at == '\'' || *at == '"')
        return parse_quoted(text, at, out, err);
    const char *wrong = strchr(at, '=');
    if (wrong != NULL)
        return complain(err, text, wrong, "a value without = (or in quotes: 'a=b')");
    *out = trimmed(at, at + strlen(at));
    return ERR_OK;
}

static void match_free(struct match *m)
{
    json_path_destroy(&m->path);
    free(m->value);
    m->value = NULL;
}

/* Parses an entry of match. A ! before the path asks for its absence and takes no value. */
static enum err_kind parse_match(const char *text, struct match *m, struct err *err)
{
    const char *from = skip_space(text);
    bool absent = *from == '!';
    enum err_kind kind = ERR_OK;

    *m = (struct match){.op = absent ? SHAPE_TREE_ABSENT : SHAPE_TREE_PRESENT};
    if (absent)
        from = skip_space(from + 1);
    const char *at = find_operator(from);
    if (absent && *at != '\0')
        return complain(err, text, at, "the end (not equal is PATH!=VALUE)");
    char *path = trimmed(from, at);
    if (*at != '\0') {
        m->op = *at == '=' ? SHAPE_TREE_EQUAL : SHAPE_TREE_NOT_EQUAL;
        kind = parse_value(text, at + (*at == '=' ? 1 : 2), &m->value, err);
    }
    if (kind == ERR_OK)
        kind = json_path_parse(path, &m->path, err);
    free(path);
    if (kind != ERR_OK)
        match_free(m);
    return kind;
}

/* Parses a path of keep or drop. Elements cannot be kept or dropped one by one: without element 0
 * the next one would become element 0 for hooks and for other paths. */
static enum err_kind parse_path(const char *text, struct json_path **out, struct err *err)
{
    enum err_kind kind = json_path_parse(text, out, err);

    for (size_t i = 0; kind == ERR_OK && i < json_path_length(*out); i++) {
        struct json_path_step step = json_path_step(*out, i);

        if (step.kind == JSON_PATH_INDEX)
            kind = err_set(err, ERR_CONFIG, 0,
                           "path '%s': at character %zu: expected [*] or a member: elements are "
                           "not kept or dropped one by one",
                           text, step.character);
    }
    if (kind != ERR_OK)
        json_path_destroy(out);
    return kind;
}

/* ---- The tree. */

static bool is_step(const struct shape_tree_node *n, const struct json_path_step *step)
{
    return n->kind == step->kind && n->index == step->index &&
           str_eq(str_of(n->name, n->name_n), step->name);
}

/* The child of n for this step; paths with the same beginning share their nodes. */
static struct shape_tree_node *child_for(struct shape *s, struct shape_tree_node *n,
                                         const struct json_path_step *step)
{
    for (struct shape_tree_node *c = n->child; c != NULL; c = c->sibling)
        if (is_step(c, step))
            return c;
    n->child =
        MEM_NEW(struct shape_tree_node, .kind = step->kind, .index = step->index,
                .name = step->name.p != NULL ? mem_strndup(step->name.p, step->name.n) : NULL,
                .name_n = step->name.n, .sibling = n->child, .older = s->newest);
    s->newest = n->child;
    s->node_count++;
    return n->child;
}

/* Adds a path for one use and returns the node where it ends. A path of drop outside of metadata
 * does not need whole objects: that part would not come anyway. */
static struct shape_tree_node *add_path(struct shape *s, const struct json_path *path, unsigned use)
{
    struct shape_tree_node *n = &s->root;
    struct json_path_step first = json_path_step(path, 0);

    if (use != SHAPE_TREE_DROP &&
        (first.kind != JSON_PATH_MEMBER || !str_is(first.name, "metadata")))
        s->beyond_metadata = true;
    for (size_t i = 0; i < json_path_length(path); i++) {
        struct json_path_step step = json_path_step(path, i);

        n->below |= use;
        n = child_for(s, n, &step);
    }
    n->ends |= use;
    return n;
}

static enum err_kind add_paths(struct shape *s, const char *const *texts, size_t count,
                               unsigned use, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct json_path *path;

        if (parse_path(texts[i], &path, err) != ERR_OK)
            return err_wrap(err, "%s: entry %zu", use == SHAPE_TREE_KEEP ? "keep" : "drop", i + 1);
        add_path(s, path, use);
        json_path_destroy(&path);
    }
    return ERR_OK;
}

/* Adds the entries of match. A node has a list of its tests, as several entries may have the same
 * path. */
static enum err_kind add_tests(struct shape *s, const char *const *texts, size_t count,
                               struct err *err)
{
    s->tests = mem_array(count, sizeof(*s->tests));
    for (size_t i = 0; i < count; i++) {
        struct match m;

        if (parse_match(texts[i], &m, err) != ERR_OK)
            return err_wrap(err, "match: entry %zu", i + 1);
        struct shape_tree_node *n = add_path(s, m.path, SHAPE_TREE_MATCH);
        struct shape_tree_test *test = &s->tests[s->test_count++];
        *test = (struct shape_tree_test){.next = n->tests, .op = m.op, .value = m.value};
        n->tests = test;
        m.value = NULL;
        match_free(&m);
    }
    return ERR_OK;
}

/* Adds a path for a label that the selector names: without that label nobody could tell whether
 * the object is still selected. Keys of labels need no escapes in a path. */
static void need_label(void *arg, struct str label)
{
    char *text = mem_printf("metadata.labels['%.*s']", STR_ARG(label));
    struct json_path *path;
    enum err_kind kind = json_path_parse(text, &path, NULL);

    ensure(kind == ERR_OK);
    add_path(arg, path, SHAPE_TREE_NEED);
    json_path_destroy(&path);
    free(text);
}

enum err_kind shape_create(const struct shape_params *p, struct shape **out, struct err *err)
{
    struct shape *s = MEM_NEW(struct shape, .keep_count = p->keep_count);
    struct err local = {0};
    enum err_kind kind = add_paths(s, p->keep, p->keep_count, SHAPE_TREE_KEEP, &local);

    if (kind == ERR_OK)
        kind = add_paths(s, p->drop, p->drop_count, SHAPE_TREE_DROP, &local);
    if (kind == ERR_OK)
        kind = add_tests(s, p->match, p->match_count, &local);
    /* A selector that is wrong is reported by selector_check_labels(); here its good part is
     * enough. */
    if (p->label_selector != NULL)
        selector_each_label(p->label_selector, need_label, s);
    if (kind != ERR_OK)
        shape_destroy(&s);
    if (kind != ERR_OK && err != NULL)
        *err = local;
    *out = s;
    return kind;
}

void shape_destroy(struct shape **s)
{
    if (*s == NULL)
        return;
    /* The list of all nodes makes recursion unnecessary. */
    for (struct shape_tree_node *n = (*s)->newest, *older; n != NULL; n = older) {
        older = n->older;
        free(n->name);
        free(n);
    }
    for (size_t i = 0; i < (*s)->test_count; i++)
        free((*s)->tests[i].value);
    free((*s)->tests);
    free(*s);
    *s = NULL;
}

enum err_kind shape_check_path(const char *text, struct err *err)
{
    struct json_path *path;
    enum err_kind kind = parse_path(text, &path, err);

    json_path_destroy(&path);
    return kind;
}

enum err_kind shape_check_match(const char *text, struct err *err)
{
    struct match m = {0};
    enum err_kind kind = parse_match(text, &m, err);

    match_free(&m);
    return kind;
}

bool shape_is_metadata_only(const struct shape *s)
{
    return s->keep_count > 0 && !s->beyond_metadata;
}
