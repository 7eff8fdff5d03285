/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/shape_walk.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "kube/shape_tree.h"

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
    const struct shape_tree_node *nodes[];
};

struct shape_walk *shape_walk_create(const struct shape *s)
{
    static const struct shape all;
    const struct shape *shape = s != NULL ? s : &all;
    struct shape_walk *w =
        mem_zalloc(sizeof(*w) + (shape->node_count + 1) * sizeof(const struct shape_tree_node *));

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

/* Does this step lead to the member of this key, or (key NULL) to the element of this index? */
static bool fulfils(const struct shape_tree_node *n, const struct str *key, size_t index)
{
    switch (n->kind) {
    case JSON_PATH_MEMBER:
        return key != NULL && str_eq(*key, str_of(n->name, n->name_n));
    case JSON_PATH_INDEX:
        return key == NULL && n->index == index;
    case JSON_PATH_ALL:
        break;
    }
    return true;
}

/* The fate of a child by that of its parent and the uses of the paths that end at the child or
 * lead on from it. Needed labels come first, then drop, then keep; below a part that is gone only
 * needed labels stay. */
static enum fate fate_of(enum fate parent, unsigned ends, unsigned below)
{
    enum fate least = (below & SHAPE_TREE_NEED) != 0 ? FATE_NEEDED : FATE_GONE;

    if ((ends & SHAPE_TREE_NEED) != 0)
        return FATE_KEPT;
    if (parent == FATE_GONE || parent == FATE_NEEDED || (ends & SHAPE_TREE_DROP) != 0)
        return least;
    if (parent == FATE_KEPT || (ends & SHAPE_TREE_KEEP) != 0)
        return FATE_KEPT;
    return (below & SHAPE_TREE_KEEP) != 0 ? FATE_PARTLY : least;
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
        const struct shape_tree_node *n = w->nodes[i]->child;

        for (; n != NULL; n = n->sibling) {
            if (!fulfils(n, key, index))
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
        const struct shape_tree_test *t = w->nodes[i]->tests;

        for (; t != NULL; t = t->next)
            if (t->value == NULL || (text != NULL && str_is(*text, t->value)))
                w->hits[t - w->shape->tests] = true;
    }
}

/* Does anything depend on the inside of the child, a container? If not, its tokens need not be
 * handed over at all. */
static bool inside_matters(const struct shape_walk *w)
{
    if ((w->below & SHAPE_TREE_MATCH) != 0)
        return true;
    if (w->cut != 0)
        return false;
    /* In metadata, which always stays, managedFields must be found even if everything is kept. */
    if (w->fate == FATE_KEPT && w->say != SHAPE_WALK_STAYS)
        return (w->below & SHAPE_TREE_DROP) != 0;
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

/* All tests must hold. != and ! are noted by what they exclude, so a hit breaks them: PATH!=VALUE
 * with [*] means that no element has the value. */
bool shape_walk_selected(const struct shape_walk *w)
{
    const struct shape *s = w->shape;

    for (size_t i = 0; i < s->test_count; i++) {
        bool negated =
            s->tests[i].op == SHAPE_TREE_NOT_EQUAL || s->tests[i].op == SHAPE_TREE_ABSENT;

        if (w->hits[i] == negated)
            return false;
    }
    return true;
}
