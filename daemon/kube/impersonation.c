/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/impersonation.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A value with a line break would add header lines of its own. HTTP cuts blanks off the ends of a
 * value (RFC 9110 5.5): that would be another user. */
static enum err_kind check_value(const char *field, const char *value, struct err *err)
{
    size_t n = strlen(value);

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
            return err_set(err, ERR_CONFIG, 0, "%s holds a control byte", field);
    if (n > 0 && (value[0] == ' ' || value[n - 1] == ' '))
        return err_set(err, ERR_CONFIG, 0, "%s begins or ends with a blank", field);
    return ERR_OK;
}

static enum err_kind put_line(struct buf *out, const char *name, const char *field,
                              const char *value, struct err *err)
{
    if (check_value(field, value, err) != ERR_OK)
        return ERR_CONFIG;
    buf_printf(out, "%s: %s\r\n", name, value);
    return ERR_OK;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* May the byte stand in the name of a header (RFC 9110 5.6.2)? A percent sign may, but servers take
 * it for the begin of an escaped byte. */
static bool is_token(char c)
{
    return c != '\0' && strchr("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz", c) != NULL;
}

/* Servers take the name of the header in lower case and then undo the escapes, so the key is in
 * lower case first. */
static char *extra_header(const char *key)
{
    static const char hex[] = "0123456789ABCDEF";
    struct buf name = {0};

    buf_puts(&name, "Impersonate-Extra-");
    for (; *key != '\0'; key++) {
        char c = (char)(is_upper(*key) ? *key - 'A' + 'a' : *key);

        if (is_token(c)) {
            buf_putc(&name, c);
        } else {
            buf_putc(&name, '%');
            buf_putc(&name, hex[(unsigned char)c >> 4]);
            buf_putc(&name, hex[(unsigned char)c & 15]);
        }
    }
    buf_cstr(&name); /* adds the NUL; the caller owns the memory now */
    return name.data;
}

static enum err_kind put_extra(struct buf *out, const struct impersonation_extra *extra,
                               struct err *err)
{
    char *name = extra_header(extra->key);
    enum err_kind kind = ERR_OK;

    if (extra->key[0] == '\0')
        kind = err_set(err, ERR_CONFIG, 0, "as-user-extra has an empty key");
    for (size_t i = 0; i < extra->value_count && kind == ERR_OK; i++)
        kind = put_line(out, name, "as-user-extra", extra->values[i], err);
    free(name);
    return kind;
}

enum err_kind impersonation_put(const struct impersonation *i, struct buf *out, struct err *err)
{
    enum err_kind kind = ERR_OK;

    if (i->user == NULL)
        return ERR_OK;
    kind = put_line(out, "Impersonate-User", "as", i->user, err);
    if (kind == ERR_OK && i->uid != NULL)
        kind = put_line(out, "Impersonate-Uid", "as-uid", i->uid, err);
    for (size_t k = 0; k < i->group_count && kind == ERR_OK; k++)
        kind = put_line(out, "Impersonate-Group", "as-groups", i->groups[k], err);
    for (size_t k = 0; k < i->extra_count && kind == ERR_OK; k++)
        kind = put_extra(out, &i->extra[k], err);
    return kind;
}

static void free_strings(char **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i]);
    free(v);
}

void impersonation_fini(struct impersonation *i)
{
    free(i->user);
    free(i->uid);
    free_strings(i->groups, i->group_count);
    for (size_t k = 0; k < i->extra_count; k++) {
        free(i->extra[k].key);
        free_strings(i->extra[k].values, i->extra[k].value_count);
    }
    free(i->extra);
    *i = (struct impersonation){0};
}
