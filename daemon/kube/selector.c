/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/selector.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Lengths of the parts of a label (Kubernetes, "Labels and Selectors"). */
enum { NAME_MAX_BYTES = 63, PREFIX_MAX_BYTES = 253 };

struct cursor {
    const char *text;
    const char *at;
    const char *wanted; /* what was expected where it failed; NULL = all is well */
    void (*key)(void *arg, struct str label); /* NULL = nobody asks for keys */
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

static bool take(struct cursor *c, const char *token)
{
    size_t n = strlen(token);

    skip_space(c);
    if (strncmp(c->at, token, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A word as in "in": ends where a name would. */
static bool take_word(struct cursor *c, const char *word)
{
    const char *before = c->at;

    if (take(c, word) && (*c->at == ' ' || *c->at == '('))
        return true;
    c->at = before;
    return false;
}

static bool in_name(char ch)
{
    return isalnum((unsigned char)ch) || ch == '-' || ch == '_' || ch == '.';
}

/* Letters, digits, -, _ and . with a letter or digit at both ends. */
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

/* A value may be empty. */
static bool take_value(struct cursor *c)
{
    skip_space(c);
    return !in_name(*c->at) || take_name(c, NAME_MAX_BYTES, "a label value");
}

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

static bool take_requirement(struct cursor *c)
{
    if (take(c, "!"))
        return take_key(c);
    if (!take_key(c))
        return false;
    if (take_word(c, "in") || take_word(c, "notin"))
        return take_set(c);
    if (take(c, "!=") || take(c, "==") || take(c, "="))
        return take_value(c);
    if (take(c, ">") || take(c, "<"))
        return take_number(c);
    return true; /* the key exists */
}

static bool take_path(struct cursor *c)
{
    const char *from = c->at;

    while (in_name(*c->at) || *c->at == '/')
        c->at++;
    return c->at > from || fail(c, "a field path");
}

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
    if (!take_path(c))
        return false;
    if (!take(c, "!=") && !take(c, "==") && !take(c, "="))
        return fail(c, "=, == or !=");
    return take_field_value(c);
}

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
