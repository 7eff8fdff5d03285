/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/visible.h"

struct problem {
    char *file;
    int line;
    size_t order; /* of being found; qsort() does not keep the order of equal lines */
    char *text;
};

void problems_add(struct problems *p, struct where at, const char *fmt, ...)
{
    va_list ap;

    if (p->n == PROBLEMS_MAX) {
        p->more++;
        return;
    }
    if (p->v == NULL)
        p->v = mem_array(PROBLEMS_MAX, sizeof(*p->v));
    struct problem *new = &p->v[p->n];
    new->file = mem_strdup(at.file != NULL ? at.file : "(defaults)");
    new->line = at.line;
    new->order = p->n++;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap); /* the length first: texts may hold long paths */
    va_end(ap);
    ensure(n >= 0);
    new->text = mem_alloc((size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(new->text, (size_t)n + 1, fmt, ap);
    va_end(ap);
}

bool problems_has(const struct problems *p, struct where at)
{
    for (size_t i = 0; at.file != NULL && i < p->n; i++)
        if (p->v[i].line == at.line && strcmp(p->v[i].file, at.file) == 0)
            return true;
    return false;
}

size_t problems_count(const struct problems *p)
{
    return p->n + p->more;
}

/* By file, line, and the order in which the problems were found. */
static int by_place(const void *left, const void *right)
{
    const struct problem *a = left;
    const struct problem *b = right;
    int d = strcmp(a->file, b->file);

    if (d == 0)
        d = a->line < b->line ? -1 : a->line > b->line;
    if (d == 0)
        d = a->order < b->order ? -1 : a->order > b->order;
    return d;
}

void problems_put(struct problems *p, struct buf *out)
{
    const char *mark = p->mark != NULL ? p->mark : "";

    if (p->n > 0)
        qsort(p->v, p->n, sizeof(*p->v), by_place);
    for (size_t i = 0; i < p->n; i++) {
        visible_put(out, str_c(p->v[i].file));
        if (p->v[i].line > 0)
            buf_printf(out, ":%d", p->v[i].line);
        buf_printf(out, ": %s", mark);
        visible_put(out, str_c(p->v[i].text));
        buf_putc(out, '\n');
    }
    if (p->more > 0)
        buf_printf(out, "%s... and %zu more\n", mark, p->more);
}

void problems_free(struct problems *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].file);
        free(p->v[i].text);
    }
    free(p->v);
    *p = (struct problems){0};
}
