/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_tree.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"

enum { MAX_VALUES = 1000000, FIRST_VALUES = 64 };

struct reader {
    struct json_tree *tree;
    unsigned parent; /* the innermost open container; until it ends its `next` is the index of its
                        own parent */
    bool too_many;
    struct str name; /* of the member whose value comes next */
};

/* The text of a string that ends at position end, valid as long as the tree. A string without
 * escapes stands in the JSON as it is, and is not copied. */
static struct str keep_text(struct json_tree *t, struct str text, size_t end)
{
    const char *raw = t->text.p + end - 1 - text.n;

    if (text.n == 0 || memcmp(raw, text.p, text.n) == 0)
        return str_of(raw, text.n);
    /* Room for all strings is reserved at once, so the buffer never moves under the strings that
     * point to it. */
    bool first = t->decoded.cap == 0; /* decoded text is never longer than the JSON */
    char *at = buf_reserve(&t->decoded, first ? t->text.n : text.n);
    memcpy(at, text.p, text.n);
    t->decoded.len += text.n;
    return str_of(at, text.n);
}

static bool is_container(enum json_type type)
{
    return type == JSON_OBJECT || type == JSON_ARRAY;
}

/* The bytes of a value. A container begins with its opening bracket and gets its length in
 * end_container(). */
static struct str bytes_of(struct json_tree *t, const struct json_token *token)
{
    const char *end = t->text.p + (size_t)token->end;

    if (token->type == JSON_STRING)
        return keep_text(t, token->text, (size_t)token->end);
    if (token->type == JSON_NUMBER)
        return str_of(end - token->text.n, token->text.n);
    return is_container(token->type) ? str_of(end - 1, 1) : (struct str){0};
}

static bool add(struct reader *r, const struct json_token *token)
{
    struct json_tree *t = r->tree;
    bool container = is_container(token->type);

    r->too_many = t->n == MAX_VALUES;
    if (r->too_many)
        return false;
    if (t->n == t->cap) {
        t->cap = t->cap > 0 ? 2 * t->cap : FIRST_VALUES;
        t->v = mem_realloc(t->v, t->cap * sizeof(*t->v));
    }
    t->v[t->n] = (struct json_value){
        .type = token->type,
        .next = container ? r->parent : t->n + 1,
        .name = r->name,
        .bytes = bytes_of(t, token),
    };
    if (container)
        r->parent = t->n;
    r->name = (struct str){0};
    t->n++;
    return true;
}

/* Restores the parent that add() kept in `next`, and sets the real `next`. */
static void end_container(struct reader *r, size_t end)
{
    struct json_tree *t = r->tree;
    struct json_value *v = &t->v[r->parent];

    v->bytes.n = (size_t)(t->text.p + end - v->bytes.p);
    r->parent = v->next;
    v->next = t->n;
}

static bool on_token(void *arg, const struct json_token *token)
{
    struct reader *r = arg;

    if (token->type == JSON_OBJECT_END || token->type == JSON_ARRAY_END)
        end_container(r, (size_t)token->end);
    else if (token->type == JSON_KEY)
        r->name = keep_text(r->tree, token->text, (size_t)token->end);
    else
        return add(r, token);
    return true;
}

enum err_kind json_tree_read(struct json_tree *t, struct err *err)
{
    struct reader r = {.tree = t};
    enum err_kind kind = json_in_scan(t->text, on_token, &r, err);

    if (r.too_many)
        return err_set(err, ERR_TOO_BIG, 0, "JSON of more than %d values", MAX_VALUES);
    return kind;
}

void json_tree_free(struct json_tree *t)
{
    free(t->v);
    buf_free(&t->decoded);
    *t = (struct json_tree){0};
}
