/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "kube/selector.h"
#include "proto/json_path.h"

/* The uses of a path, one bit each. A NEEDED part stays whatever keep and drop say. */
enum { USE_KEEP = 1, USE_DROP = 2, USE_MATCH = 4, USE_NEED = 8 };

enum op {
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_PRESENT,
    OP_ABSENT,
};

/* An entry of match, in a list of those with the same path. */
struct test {
    struct test *next;
    enum op op;
    char *value; /* EQUAL, NOT_EQUAL; else NULL */
};

/* A step of paths: a member, an element with an index, or all elements and members. */
struct node {
    struct json_path_step step; /* its name stands behind the node */
    unsigned ends;              /* uses of the paths that end here */
    unsigned below;             /* uses of the paths that go on from here */
    struct test *tests;
    struct node *child; /* the first one */
    struct node *sibling;
    /* The node that was made before this one: the list of all nodes. */
    struct node *older;
};

struct shape {
    struct node root;
    struct node *newest;
    size_t node_count; /* without the root */
    struct test *tests;
    size_t test_count;
    size_t keep_count;
    bool beyond_metadata; /* a path of keep or match begins with another member */
};

/* ---- Making a shape of its entries */

/* An entry of match that was parsed; release with match_free(). */
struct match {
    struct json_path *path;
    enum op op;
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

    *m = (struct match){.op = absent ? OP_ABSENT : OP_PRESENT};
    if (absent)
        from = skip_space(from + 1);
    const char *at = find_operator(from);
    if (absent && *at != '\0')
        return complain(err, text, at, "the end (not equal is PATH!=VALUE)");
    char *path = trimmed(from, at);
    if (*at != '\0') {
        m->op = *at == '=' ? OP_EQUAL : OP_NOT_EQUAL;
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

static bool is_step(const struct node *n, const struct json_path_step *step)
{
    return n->step.kind == step->kind && n->step.index == step->index &&
           str_eq(n->step.name, step->name);
}

/* The child of n for this step; paths with the same beginning share their nodes. */
static struct node *child_for(struct shape *s, struct node *n, const struct json_path_step *step)
{
    for (struct node *c = n->child; c != NULL; c = c->sibling)
        if (is_step(c, step))
            return c;
    struct node *made = mem_alloc(sizeof(*made) + step->name.n);
    char *name = (char *)(made + 1);
    *made = (struct node){.step = *step, .sibling = n->child, .older = s->newest};
    made->step.name = str_put(&name, step->name);
    n->child = made;
    s->newest = made;
    s->node_count++;
    return made;
}

/* Adds a path for one use and returns the node where it ends. A path of drop outside of metadata
 * does not need whole objects: that part would not come anyway. */
static struct node *add_path(struct shape *s, const struct json_path *path, unsigned use)
{
    struct node *n = &s->root;
    struct json_path_step first = json_path_step(path, 0);

    if (use != USE_DROP && (first.kind != JSON_PATH_MEMBER || !str_is(first.name, "metadata")))
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
            return err_wrap(err, "%s: entry %zu", use == USE_KEEP ? "keep" : "drop", i + 1);
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
        struct node *n = add_path(s, m.path, USE_MATCH);
        struct test *test = &s->tests[s->test_count++];
        *test = (struct test){.next = n->tests, .op = m.op, .value = m.value};
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
    add_path(arg, path, USE_NEED);
    json_path_destroy(&path);
    free(text);
}

enum err_kind shape_create(const struct shape_params *p, struct shape **out, struct err *err)
{
    struct shape *s = MEM_NEW(struct shape, .keep_count = p->keep_count);
    struct err local = {0};
    enum err_kind kind = add_paths(s, p->keep, p->keep_count, USE_KEEP, &local);

    if (kind == ERR_OK)
        kind = add_paths(s, p->drop, p->drop_count, USE_DROP, &local);
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
    for (struct node *n = (*s)->newest, *older; n != NULL; n = older) {
        older = n->older;
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

/* ---- Following a shape */

/* How much of a value stays. */
enum fate {
    FATE_KEPT,   /* everything but paths of drop */
    FATE_PARTLY, /* the paths of keep in it */
    FATE_NEEDED, /* the labels in it that the selector needs */
    FATE_GONE,   /* nothing: a member is cut with its key, an element leaves its braces */
};

/* A container that is open. */
struct frame {
    size_t from; /* its nodes are nodes[from] to nodes[to - 1] */
    size_t to;
    size_t next; /* index of the next element */
    enum fate fate;
    bool array;
};

/* nodes is a stack of the nodes that lead to the current place. A node belongs to one depth, so
 * it is there at most once, and the array never has to grow. Behind the nodes of the innermost
 * frame stand those of the child: the value that is looked at now. */
struct shape_walk {
    const struct shape *shape;
    unsigned deepest;
    unsigned cut;            /* the depth of the member being cut, 0 = none */
    enum shape_walk_say say; /* of the child */
    enum fate fate;          /* of the child */
    size_t child_to;
    unsigned below; /* uses of the paths that go on from the child */
    size_t frame_cap;
    struct frame *frames; /* [d]: the container of the values at depth d + 1 */
    bool *hits;           /* for each test: a value that it asks for was seen */
    const struct node *nodes[];
};

struct shape_walk *shape_walk_create(const struct shape *s)
{
    static const struct shape all;
    const struct shape *shape = s != NULL ? s : &all;
    struct shape_walk *w =
        mem_zalloc(sizeof(*w) + (shape->node_count + 1) * sizeof(const struct node *));

    w->shape = shape;
    /* Objects of Kubernetes are rarely deeper where a shape looks; on_open() makes room for
     * more. */
    w->frame_cap = 8;
    w->frames = mem_array(w->frame_cap, sizeof(*w->frames));
    w->hits = mem_array(shape->test_count, sizeof(*w->hits));
    w->nodes[0] = &shape->root;
    return w;
}

void shape_walk_destroy(struct shape_walk **w)
{
    if (*w == NULL)
        return;
    free((*w)->frames);
    free((*w)->hits);
    free(*w);
    *w = NULL;
}

void shape_walk_begin(struct shape_walk *w)
{
    bool all = w->shape->keep_count == 0;

    w->frames[0] = (struct frame){.to = 1, .fate = all ? FATE_KEPT : FATE_PARTLY};
    w->deepest = 1;
    w->cut = 0;
    for (size_t i = 0; i < w->shape->test_count; i++)
        w->hits[i] = false;
}

unsigned shape_walk_deepest(const struct shape_walk *w)
{
    return w->deepest;
}

/* The fate of a child by that of its parent and the uses of the paths that end at the child or
 * lead on from it. Needed labels come first, then drop, then keep; below a part that is gone only
 * needed labels stay. */
static enum fate fate_of(enum fate parent, unsigned ends, unsigned below)
{
    enum fate least = (below & USE_NEED) != 0 ? FATE_NEEDED : FATE_GONE;

    if ((ends & USE_NEED) != 0)
        return FATE_KEPT;
    if (parent == FATE_GONE || parent == FATE_NEEDED || (ends & USE_DROP) != 0)
        return least;
    if (parent == FATE_KEPT || (ends & USE_KEEP) != 0)
        return FATE_KEPT;
    return (below & USE_KEEP) != 0 ? FATE_PARTLY : least;
}

/* Goes to a member (key) or an element (index) of the frame: collects its nodes and finds its
 * fate. */
static void go(struct shape_walk *w, const struct frame *f, const struct str *key, size_t index)
{
    unsigned ends = 0;

    w->child_to = f->to;
    w->below = 0;
    w->say = SHAPE_WALK_ASK;
    for (size_t i = f->from; i < f->to; i++) {
        const struct node *n = w->nodes[i]->child;

        for (; n != NULL; n = n->sibling) {
            if (!json_path_fulfils(&n->step, key, index))
                continue;
            ends |= n->ends;
            w->below |= n->below;
            w->nodes[w->child_to++] = n;
        }
    }
    w->fate = fate_of(f->fate, ends, w->below);
}

/* A key decides whether its member is cut. Inside of a member that is cut already the walk goes
 * on for match alone: all the bytes there are cut. */
static enum shape_walk_do on_key(struct shape_walk *w, struct str key, unsigned depth,
                                 enum shape_walk_say say)
{
    const struct frame *f = &w->frames[depth - 1];

    go(w, f, &key, 0);
    w->say = say;
    if (say == SHAPE_WALK_GOES || say == SHAPE_WALK_HIDDEN)
        w->fate = FATE_GONE;
    if (say == SHAPE_WALK_HIDDEN) {
        w->child_to = f->to;
        w->below = 0;
    }
    if (w->cut != 0)
        return SHAPE_WALK_PASS;
    if (w->fate != FATE_GONE || say == SHAPE_WALK_STAYS)
        return SHAPE_WALK_KEEP_KEY;
    w->cut = depth;
    return SHAPE_WALK_CUT_KEY;
}

/* The child has a value that is not null (text NULL: a container): notes the tests that are hit.
 * A test without a text to compare only asks whether there is a value. */
static void look(struct shape_walk *w, const struct frame *f, const struct str *text)
{
    for (size_t i = f->to; i < w->child_to; i++) {
        const struct test *t = w->nodes[i]->tests;

        for (; t != NULL; t = t->next)
            if (t->value == NULL || (text != NULL && str_is(*text, t->value)))
                w->hits[t - w->shape->tests] = true;
    }
}

/* Does anything depend on the inside of the child, a container? If not, its tokens need not be
 * handed over at all. */
static bool inside_matters(const struct shape_walk *w)
{
    if ((w->below & USE_MATCH) != 0)
        return true;
    if (w->cut != 0)
        return false;
    /* In metadata, which always stays, managedFields must be found even if everything is kept. */
    if (w->fate == FATE_KEPT && w->say != SHAPE_WALK_STAYS)
        return (w->below & USE_DROP) != 0;
    return true;
}

static enum shape_walk_do on_open(struct shape_walk *w, unsigned depth, bool array)
{
    look(w, &w->frames[depth - 1], NULL);
    if (!inside_matters(w)) {
        w->deepest = depth;
        return SHAPE_WALK_PASS;
    }
    if (depth == w->frame_cap) {
        w->frame_cap *= 2;
        w->frames = mem_realloc(w->frames, w->frame_cap * sizeof(*w->frames));
    }
    /* The nodes of the child become those of the new frame. */
    w->frames[depth] = (struct frame){
        .from = w->frames[depth - 1].to, .to = w->child_to, .fate = w->fate, .array = array};
    w->deepest = depth + 1;
    return array || w->cut != 0 ? SHAPE_WALK_PASS : SHAPE_WALK_OPEN;
}

/* The value at this depth is complete. An element of an array is never cut by itself, and the end
 * of a value inside of a cut member is not the end of the cut. */
static enum shape_walk_do on_value_end(struct shape_walk *w, unsigned depth)
{
    w->deepest = depth;
    if (w->frames[depth - 1].array || (w->cut != 0 && w->cut != depth))
        return SHAPE_WALK_PASS;
    if (w->cut == 0)
        return SHAPE_WALK_KEEP_VALUE;
    w->cut = 0;
    return SHAPE_WALK_CUT_VALUE;
}

/* match compares the text of a scalar; null counts as absent. */
static enum shape_walk_do on_scalar(struct shape_walk *w, const struct json_token *t,
                                    unsigned depth)
{
    struct str text = t->text;

    if (t->type == JSON_TRUE || t->type == JSON_FALSE)
        text = str_c(t->type == JSON_TRUE ? "true" : "false");
    if (t->type != JSON_NULL)
        look(w, &w->frames[depth - 1], &text);
    return on_value_end(w, depth);
}

enum shape_walk_do shape_walk_token(struct shape_walk *w, const struct json_token *t,
                                    unsigned depth, enum shape_walk_say say)
{
    struct frame *f = &w->frames[depth - 1];

    ensure(depth <= w->deepest);
    if (t->type == JSON_KEY)
        return on_key(w, t->text, depth, say);
    if (t->type == JSON_OBJECT_END || t->type == JSON_ARRAY_END)
        return on_value_end(w, depth);
    /* Elements have no key that would lead to them, so the walk goes to each value of an array
     * here. */
    if (f->array)
        go(w, f, NULL, f->next++);
    if (t->type == JSON_OBJECT || t->type == JSON_ARRAY)
        return on_open(w, depth, t->type == JSON_ARRAY);
    return on_scalar(w, t, depth);
}

void shape_walk_add(struct shape_walk *w, struct str key, struct str value)
{
    const struct frame *f = &w->frames[0];

    go(w, f, &key, 0);
    look(w, f, &value);
}

/* All tests must hold. For != and ! the walk notes values that they exclude, so a hit breaks them:
 * PATH!=VALUE with [*] means that no element has the value. */
bool shape_walk_selected(const struct shape_walk *w)
{
    const struct shape *s = w->shape;

    for (size_t i = 0; i < s->test_count; i++) {
        bool negated = s->tests[i].op == OP_NOT_EQUAL || s->tests[i].op == OP_ABSENT;

        if (w->hits[i] == negated)
            return false;
    }
    return true;
}
