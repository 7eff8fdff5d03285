/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/selector.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

/* Lengths of name and prefix of a label key, and of a value (Kubernetes, "Labels and
 * Selectors"). */
enum { NAME_MAX_BYTES = 63, PREFIX_MAX_BYTES = 253 };

enum selector_op {
    OPERATOR_EXISTS,
    OPERATOR_LACKS,
    OPERATOR_IN,
    OPERATOR_NOT_IN,
    OPERATOR_GREATER,
    OPERATOR_LESS,
};

/* One requirement of a selector; views of its text. */
struct requirement {
    struct str key;
    enum selector_op op;
    struct str values; /* IN, NOT_IN: as written, with commas; GREATER, LESS: the number */
};

/* The parser: it goes through the text once and calls back for keys and requirements. */
struct cursor {
    const char *text;
    const char *at;
    const char *wanted; /* the words that were expected at the fault; NULL = no fault so far */
    void (*key)(void *arg, struct str label);                    /* NULL = not called */
    void (*requirement)(void *arg, const struct requirement *r); /* NULL = not called */
    void *arg;
};

static bool fail(struct cursor *c, const char *wanted)
{
    c->wanted = wanted;
    return false;
}

static void skip_space(struct cursor *c)
{
    while (*c->at == ' ' || *c->at == '\t')
        c->at++;
}

/* Goes past a token and the white space before it, if the token is there. */
static bool take(struct cursor *c, const char *token)
{
    size_t n = strlen(token);

    skip_space(c);
    if (strncmp(c->at, token, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* Takes an operator that is a word, such as "in". A blank or bracket must follow, or the word is
 * only the beginning of another one. */
static bool take_word(struct cursor *c, const char *word)
{
    const char *before = c->at;

    if (take(c, word) && (*c->at == ' ' || *c->at == '\t' || *c->at == '('))
        return true;
    c->at = before;
    return false;
}

static bool in_name(char ch)
{
    return isalnum((unsigned char)ch) || ch == '-' || ch == '_' || ch == '.';
}

/* Takes letters, digits, -, _ and . with a letter or digit at both ends. */
static bool take_name(struct cursor *c, size_t max, const char *wanted)
{
    const char *from = c->at;

    while (in_name(*c->at))
        c->at++;
    size_t n = (size_t)(c->at - from);
    bool good =
        n > 0 && n <= max && isalnum((unsigned char)from[0]) && isalnum((unsigned char)from[n - 1]);
    if (good)
        return true;
    c->at = from;
    return fail(c, wanted);
}

/* Takes [PREFIX/]NAME. Only a prefix is followed by a slash, and it has no capital letters, so
 * looking ahead tells which of the two comes. */
static bool take_key(struct cursor *c)
{
    const char *wanted = "a label key ([PREFIX/]NAME)";
    const char *slash;

    skip_space(c);
    const char *from = c->at;
    slash = c->at + strspn(c->at, "abcdefghijklmnopqrstuvwxyz0123456789-.");
    if (*slash == '/') {
        if (!take_name(c, PREFIX_MAX_BYTES, wanted))
            return false;
        c->at++;
    }
    if (!take_name(c, NAME_MAX_BYTES, wanted))
        return false;
    if (c->key != NULL)
        c->key(c->arg, str_of(from, (size_t)(c->at - from)));
    return true;
}

/* Takes a label value, which may be empty. */
static bool take_value(struct cursor *c)
{
    skip_space(c);
    return !in_name(*c->at) || take_name(c, NAME_MAX_BYTES, "a label value");
}

/* Takes (V,...). The values are not split here: is_listed() does it for the few objects that a
 * selector is applied to. */
static bool take_set(struct cursor *c)
{
    if (!take(c, "("))
        return fail(c, "(");
    do {
        if (!take_value(c))
            return false;
    } while (take(c, ","));
    return take(c, ")") || fail(c, ", or )");
}

static bool take_number(struct cursor *c)
{
    skip_space(c);
    if (*c->at == '-')
        c->at++;
    if (!isdigit((unsigned char)*c->at))
        return fail(c, "a whole number");
    while (isdigit((unsigned char)*c->at))
        c->at++;
    return true;
}

/* Passes a requirement on; its values stand between from and the place of the parser. */
static void tell(const struct cursor *c, struct str key, enum selector_op op, const char *from)
{
    const struct requirement r = {key, op, str_of(from, (size_t)(c->at - from))};

    if (c->requirement != NULL)
        c->requirement(c->arg, &r);
}

/* The key that was taken from here on, without the white space before it. */
static struct str key_behind(const struct cursor *c, const char *from)
{
    while (*from == ' ' || *from == '\t')
        from++;
    return str_of(from, (size_t)(c->at - from));
}

/* Takes operator and value behind a key; a key alone asks that the label exists. The longer
 * operator of two with the same beginning stands first. */
static bool take_operand(struct cursor *c, struct str key)
{
    static const struct {
        const char *token;
        enum selector_op op;
    } tokens[] = {
        {"!=", OPERATOR_NOT_IN },
        {"==", OPERATOR_IN     },
        {"=",  OPERATOR_IN     },
        {">",  OPERATOR_GREATER},
        {"<",  OPERATOR_LESS   }
    };

    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        if (!take(c, tokens[i].token))
            continue;
        skip_space(c);
        const char *from = c->at;
        bool is_number = tokens[i].op >= OPERATOR_GREATER;
        if (!(is_number ? take_number(c) : take_value(c)))
            return false;
        tell(c, key, tokens[i].op, from);
        return true;
    }
    tell(c, key, OPERATOR_EXISTS, c->at);
    return true;
}

static bool take_requirement(struct cursor *c)
{
    bool lacks = take(c, "!");
    const char *from = c->at;

    if (!take_key(c))
        return false;
    struct str key = key_behind(c, from);
    if (lacks) {
        tell(c, key, OPERATOR_LACKS, c->at);
        return true;
    }
    bool is_in = take_word(c, "in");
    if (!is_in && !take_word(c, "notin"))
        return take_operand(c, key);
    skip_space(c);
    from = c->at;
    if (!take_set(c))
        return false;
    tell(c, key, is_in ? OPERATOR_IN : OPERATOR_NOT_IN, from);
    return true;
}

static bool take_path(struct cursor *c)
{
    const char *from = c->at;

    while (in_name(*c->at) || *c->at == '/')
        c->at++;
    return c->at > from || fail(c, "a field path");
}

/* Takes the value of a field selector up to the next comma. A backslash stands only before a
 * comma, an equals sign or a backslash, as in Kubernetes' fields.ParseSelector(). */
static bool take_field_value(struct cursor *c)
{
    for (; *c->at != '\0' && *c->at != ','; c->at++) {
        if (*c->at == '=')
            return fail(c, "\\= inside a value");
        if (*c->at == '\\' && strchr(",=\\", c->at[1]) == NULL)
            return fail(c, "\\, \\= or \\\\");
        if (*c->at == '\\' && *++c->at == '\0')
            return fail(c, "\\, \\= or \\\\");
    }
    return true;
}

static bool take_field(struct cursor *c)
{
    const char *from = c->at;

    if (!take_path(c))
        return false;
    struct str path = str_of(from, (size_t)(c->at - from));
    bool differs = take(c, "!=");
    if (!differs && !take(c, "==") && !take(c, "="))
        return fail(c, "=, == or !=");
    from = c->at;
    if (!take_field_value(c))
        return false;
    tell(c, path, differs ? OPERATOR_NOT_IN : OPERATOR_IN, from);
    return true;
}

/* Takes a whole selector: requirements with commas between them, or nothing. */
static bool take_all(struct cursor *c, bool (*take_one)(struct cursor *))
{
    bool good;

    skip_space(c);
    if (*c->at == '\0')
        return true;
    do {
        good = take_one(c);
    } while (good && take(c, ","));
    skip_space(c);
    if (good && *c->at != '\0')
        good = fail(c, "a comma or the end");
    return good;
}

static enum err_kind check(const char *text, bool (*take_one)(struct cursor *), struct err *err)
{
    struct cursor c = {.text = text, .at = text};

    if (take_all(&c, take_one))
        return ERR_OK;
    return err_set(err, ERR_CONFIG, 0, "\"%s\": at character %zu: expected %s", text,
                   (size_t)(c.at - c.text) + 1, c.wanted);
}

enum err_kind selector_check_labels(const char *text, struct err *err)
{
    return check(text, take_requirement, err);
}

void selector_each_label(const char *text, void (*key)(void *arg, struct str label), void *arg)
{
    struct cursor c = {.text = text, .at = text, .key = key, .arg = arg};

    (void)take_all(&c, take_requirement);
}

enum err_kind selector_check_fields(const char *text, struct err *err)
{
    return check(text, take_field, err);
}

struct exact {
    struct str path;
    struct str value; /* p NULL = not found yet */
};

static void on_field(void *arg, const struct requirement *r)
{
    struct exact *x = arg;

    if (x->value.p == NULL && r->op == OPERATOR_IN && str_eq(r->key, x->path))
        x->value = r->values;
}

struct str selector_exact_field(const char *text, const char *path)
{
    struct exact x = {.path = str_c(path)};
    struct cursor c = {.text = text, .at = text, .requirement = on_field, .arg = &x};

    return take_all(&c, take_field) ? x.value : (struct str){0};
}

/* ---- Applied to an object */

/* A selector that is applied to one object. */
struct judge {
    selector_value_fn *value;
    void *arg;
    bool fields;
    bool rejects; /* a requirement so far is not met */
};

/* Is text one of the values, which are as written: (V, V) or one value? */
static bool is_listed(struct str values, struct str text)
{
    const char *end = values.p + values.n;
    const char *at = values.p;

    while (at <= end) {
        const char *from = at;

        while (at < end && *at != ',')
            at++;
        const char *to = at++;
        while (from < to && (*from == ' ' || *from == '\t' || *from == '('))
            from++;
        while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == ')'))
            to--;
        if (str_eq(str_of(from, (size_t)(to - from)), text))
            return true;
    }
    return false;
}

/* Does the value of a field selector say text? A backslash takes the byte behind it as it is. */
static bool is_value(struct str value, struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < value.n; i++, n++) {
        if (value.p[i] == '\\' && i + 1 < value.n)
            i++;
        if (n >= text.n || text.p[n] != value.p[i])
            return false;
    }
    return n == text.n;
}

static bool is_number(struct str text, long long *out)
{
    char *copy = mem_strndup(text.p, text.n);
    char *end;

    errno = 0;
    *out = strtoll(copy, &end, 10);
    bool good = end != copy && *end == '\0' && errno == 0;
    free(copy);
    return good;
}

/* Compares as numbers. A label that is no number is neither greater nor less. */
static bool compares(const struct requirement *r, struct str text)
{
    long long is;
    long long than;

    if (!is_number(text, &is) || !is_number(r->values, &than))
        return false;
    return r->op == OPERATOR_GREATER ? is > than : is < than;
}

/* An absent label meets !KEY, KEY!=V and notin, as on the server. */
static bool meets(const struct judge *j, const struct requirement *r,
                  const struct selector_value *v)
{
    bool is_there = v->is == SELECTOR_PRESENT;
    bool is_in =
        is_there && (j->fields ? is_value(r->values, v->text) : is_listed(r->values, v->text));

    switch (r->op) {
    case OPERATOR_EXISTS:
        return is_there;
    case OPERATOR_LACKS:
        return !is_there;
    case OPERATOR_IN:
        return is_in;
    case OPERATOR_NOT_IN:
        return !is_in;
    case OPERATOR_GREATER:
    case OPERATOR_LESS:
        break;
    }
    return is_there && compares(r, v->text);
}

/* An absent label is known to be absent: an object has all its labels. An absent field may have a
 * default that only the server knows. */
static void on_requirement(void *arg, const struct requirement *r)
{
    struct judge *j = arg;
    struct selector_value v = j->value(j->arg, r->key);
    bool known = v.is == SELECTOR_PRESENT || (v.is == SELECTOR_ABSENT && !j->fields);

    j->rejects = j->rejects || (known && !meets(j, r, &v));
}

static bool rejects(const char *text, bool (*take_one)(struct cursor *), struct judge *j)
{
    struct cursor c = {.text = text, .at = text, .requirement = on_requirement, .arg = j};

    return take_all(&c, take_one) && j->rejects;
}

bool selector_rejects_labels(const char *text, selector_value_fn *value, void *arg)
{
    return rejects(text, take_requirement, &(struct judge){.value = value, .arg = arg});
}

bool selector_rejects_fields(const char *text, selector_value_fn *value, void *arg)
{
    return rejects(text, take_field, &(struct judge){.value = value, .arg = arg, .fields = true});
}
