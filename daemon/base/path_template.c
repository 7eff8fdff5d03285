/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path_template.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* By enum path_template_variable. */
static const char *const names[PATH_TEMPLATE_VARIABLES] = {"namespace", "name", "cluster",
                                                           "node_name", "key"};

/* A piece of a template: a variable, or bytes without one. */
struct piece {
    struct str text;
    int variable; /* -1 = none */
};

/* The variable at the beginning of the text ("${name}..."), with its length; or -1. */
static int variable_at(struct str rest, size_t *length)
{
    for (int v = 0; v < PATH_TEMPLATE_VARIABLES; v++) {
        size_t n = strlen(names[v]);

        if (rest.n >= n + 3 && memcmp(rest.p, "${", 2) == 0 &&
            memcmp(rest.p + 2, names[v], n) == 0 && rest.p[n + 2] == '}') {
            *length = n + 3;
            return v;
        }
    }
    return -1;
}

/* Takes the first piece off a text that is not empty. False: the text begins with a "$" that is no
 * variable. */
static bool take_piece(struct str *rest, struct piece *out)
{
    const char *dollar = memchr(rest->p, '$', rest->n);
    size_t n = dollar != NULL ? (size_t)(dollar - rest->p) : rest->n;

    out->variable = n == 0 ? variable_at(*rest, &n) : -1;
    out->text = str_of(rest->p, n);
    *rest = str_of(rest->p + n, rest->n - n);
    return n > 0;
}

/* Takes the next component off the text, with the "/" behind it. */
static struct str take_component(struct str *rest)
{
    const char *slash = memchr(rest->p, '/', rest->n);
    size_t n = slash != NULL ? (size_t)(slash - rest->p) : rest->n;
    struct str component = str_of(rest->p, n);

    n += slash != NULL;
    *rest = str_of(rest->p + n, rest->n - n);
    return component;
}

static bool is_reserved(struct str component)
{
    size_t n = sizeof(PATH_TEMPLATE_RESERVED) - 1;

    return component.n >= n && memcmp(component.p, PATH_TEMPLATE_RESERVED, n) == 0;
}

/* Returns the fault of a component, for people; NULL if there is none. Values of variables are
 * checked elsewhere. */
static const char *component_fault(struct str component)
{
    if (component.n == 0)
        return "must have no empty component (\"//\", or \"/\" at the end)";
    if (str_is(component, ".") || str_is(component, ".."))
        return "must have no component \".\" or \"..\"";
    if (is_reserved(component))
        return "must not name a file that begins with \"" PATH_TEMPLATE_RESERVED "\"";
    return NULL;
}

static enum err_kind check_variables(struct str text, unsigned *used, struct err *err)
{
    struct piece piece;

    while (text.n > 0) {
        if (!take_piece(&text, &piece))
            return err_set(err, ERR_CONFIG, 0,
                           "names an unknown variable: only ${namespace}, ${name}, ${cluster}, "
                           "${node_name} and ${key} are replaced, and there is no other \"$\"");
        if (piece.variable >= 0)
            *used |= 1U << piece.variable;
    }
    return ERR_OK;
}

/* Reports a template that is too long even with the shortest values: no object could have a file
 * then. */
static enum err_kind check_lengths(const char *template, struct err *err)
{
    static const struct path_template_values shortest = {
        {"a", "a", "a", "a", "a"}
    };
    struct buf path = {0};
    enum err_kind kind = path_template_expand(template, &shortest, &path, NULL, err);

    buf_free(&path);
    if (kind == ERR_TOO_BIG)
        return err_set(err, ERR_CONFIG, 0,
                       "must have at most %d bytes in a component, and %d in all",
                       PATH_TEMPLATE_COMPONENT_MAX, PATH_TEMPLATE_PATH_MAX);
    return kind;
}

enum err_kind path_template_check(const char *template, unsigned *used, struct err *err)
{
    enum err_kind kind;
    struct str rest = str_c(template);
    const char *fault = NULL;
    bool is_last = false;

    *used = 0;
    if (rest.n == 0 || rest.p[0] != '/')
        return err_set(err, ERR_CONFIG, 0, "must be an absolute path (\"/...\")");
    rest = str_of(rest.p + 1, rest.n - 1);
    while (fault == NULL && !is_last) {
        is_last = memchr(rest.p, '/', rest.n) == NULL;
        fault = component_fault(take_component(&rest));
    }
    if (fault != NULL)
        return err_set(err, ERR_CONFIG, 0, "%s", fault);
    kind = check_variables(str_c(template), used, err);
    return kind == ERR_OK ? check_lengths(template, err) : kind;
}

/* The value of a variable must be one file name: with "/" or ".." a name of the cluster could lead
 * to another folder. */
static enum err_kind check_value(int variable, const char *value, struct err *err)
{
    const char *name = names[variable];

    if (value == NULL)
        return err_set(err, ERR_CONFIG, 0, "${%s} has no value here", name);
    if (value[0] == '\0')
        return err_set(err, ERR_CONFIG, 0, "${%s} is empty for this object%s", name,
                       variable == PATH_TEMPLATE_NAMESPACE ? ", which is cluster-scoped" : "");
    if (strcmp(value, ".") == 0 || strcmp(value, "..") == 0 || strchr(value, '/') != NULL)
        return err_set(err, ERR_CONFIG, 0, "${%s} is \"%.64s\", which is no file name", name,
                       value);
    return ERR_OK;
}

/* Appends one component with its variables replaced. The result is checked as a whole: two harmless
 * pieces may make "..", or a reserved name. */
static enum err_kind expand_component(struct str component,
                                      const struct path_template_values *values, struct buf *out,
                                      struct err *err)
{
    size_t start = out->len;
    enum err_kind kind = ERR_OK;
    struct piece piece;

    while (component.n > 0) {
        if (!take_piece(&component, &piece))
            return err_set(err, ERR_CONFIG, 0, "names an unknown variable");
        if (piece.variable < 0) {
            buf_append_str(out, piece.text);
            continue;
        }
        kind = check_value(piece.variable, values->of[piece.variable], err);
        if (kind != ERR_OK)
            return kind;
        buf_puts(out, values->of[piece.variable]);
    }
    struct str made = str_of(out->data + start, out->len - start);
    const char *fault = component_fault(made);
    if (fault != NULL)
        return err_set(err, ERR_CONFIG, 0, "%s", fault);
    if (made.n > PATH_TEMPLATE_COMPONENT_MAX)
        return err_set(err, ERR_TOO_BIG, 0,
                       "a file name of %zu bytes (\"%.40s...\"): at most %d are possible", made.n,
                       made.p, PATH_TEMPLATE_COMPONENT_MAX);
    return ERR_OK;
}

/* As path_template_expand(), except that out may have a part of the path after an error. */
static enum err_kind expand(const char *template, const struct path_template_values *values,
                            struct buf *out, size_t *fixed, struct err *err)
{
    struct str rest = str_c(template);
    size_t start = out->len;
    bool is_fixed = true;

    if (rest.n == 0 || rest.p[0] != '/')
        return err_set(err, ERR_CONFIG, 0, "must be an absolute path");
    rest = str_of(rest.p + 1, rest.n - 1);
    *fixed = 1;
    for (bool is_last = false; !is_last;) {
        is_last = memchr(rest.p, '/', rest.n) == NULL;
        struct str component = take_component(&rest);
        buf_putc(out, '/');
        enum err_kind kind = expand_component(component, values, out, err);
        if (kind != ERR_OK)
            return kind;
        is_fixed = is_fixed && memchr(component.p, '$', component.n) == NULL;
        if (is_fixed && !is_last)
            *fixed = out->len - start;
    }
    if (out->len - start > PATH_TEMPLATE_PATH_MAX)
        return err_set(err, ERR_TOO_BIG, 0, "a path of %zu bytes: at most %d are possible",
                       out->len - start, PATH_TEMPLATE_PATH_MAX);
    return ERR_OK;
}

enum err_kind path_template_expand(const char *template, const struct path_template_values *values,
                                   struct buf *out, size_t *fixed, struct err *err)
{
    size_t start = out->len;
    size_t ignored;
    enum err_kind kind = expand(template, values, out, fixed != NULL ? fixed : &ignored, err);

    if (kind != ERR_OK)
        out->len = start;
    return kind;
}

char *path_template_name(struct str name)
{
    bool whole = name.n > 0 && memchr(name.p, '\0', name.n) == NULL;

    return whole ? mem_strndup(name.p, name.n) : mem_strdup("");
}

char *path_template_put_file(const char *argument, const char *file)
{
    static const char variable[] = "${file}";
    struct buf out = {0};

    for (const char *at; (at = strstr(argument, variable)) != NULL;) {
        buf_append(&out, argument, (size_t)(at - argument));
        buf_puts(&out, file);
        argument = at + strlen(variable);
    }
    buf_puts(&out, argument);
    /* Adds the NUL. */
    buf_cstr(&out);
    return out.data;
}
