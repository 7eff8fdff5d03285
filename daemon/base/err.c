/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

enum err_kind err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
{
    va_list ap;

    if (e == NULL)
        return kind;
    e->kind = kind;
    e->code = code;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    return kind;
}

enum err_kind err_wrap(struct err *e, const char *fmt, ...)
{
    /* Copies, as snprintf() must not read from the text that it writes. */
    char context[sizeof(e->text)];
    char inner[sizeof(e->text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(context, sizeof(context), fmt, ap);
    va_end(ap);
    memcpy(inner, e->text, sizeof(inner));
    int n = snprintf(e->text, sizeof(e->text), "%s: %s", context, inner);
    ensure(n >= 0);
    return e->kind;
}

const char *err_kind_name(enum err_kind kind)
{
#define ERR_NAME(id, name) name,
    static const char *const names[] = {ERR_MAP(ERR_NAME)};
#undef ERR_NAME

    ensure((unsigned)kind < ARRAY_LEN(names));
    return names[kind];
}
