/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

static void *or_die(void *p, size_t n)
{
    if (p == NULL)
        panic("out of memory (%zu bytes)", n);
    return p;
}

/* reallocarray() and not realloc(), so that a test can have these allocations fail, and no others
 * (tests/unit/play_memory.h). */
void *mem_try_realloc(void *p, size_t n)
{
    return reallocarray(p, n > 0 ? n : 1, 1);
}

/* malloc(0) may return NULL, which would look like no memory. */
void *mem_alloc(size_t n)
{
    return or_die(malloc(n > 0 ? n : 1), n);
}

void *mem_zalloc(size_t n)
{
    return or_die(calloc(1, n > 0 ? n : 1), n);
}

void *mem_array(size_t n, size_t size)
{
    ensure(size > 0 && n <= SIZE_MAX / size);
    return mem_zalloc(n * size);
}

void *mem_realloc(void *p, size_t n)
{
    return or_die(realloc(p, n > 0 ? n : 1), n);
}

void *mem_grow(void *v, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0)
        return v;
    ensure(size > 0 && n <= SIZE_MAX / size / 2);
    return mem_realloc(v, (n > 0 ? 2 * n : 1) * size);
}

void *mem_dup(const void *p, size_t n)
{
    void *copy = mem_alloc(n);

    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

char *mem_strdup(const char *s)
{
    return s != NULL ? mem_strndup(s, strlen(s)) : NULL;
}

char **mem_strdups(const char *const *v, size_t n)
{
    char **copies = mem_array(n + 1, sizeof(*copies));

    for (size_t i = 0; i < n; i++)
        copies[i] = mem_strdup(v[i]);
    return copies;
}

void mem_free_strs(char **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i]);
    free(v);
}

char *mem_strndup(const char *s, size_t n)
{
    char *copy = mem_alloc(n + 1);

    if (n > 0)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    va_list again;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    ensure(n >= 0);
    char *s = mem_alloc((size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

void mem_wipe(void *p, size_t n)
{
    if (p != NULL)
        explicit_bzero(p, n);
}

void mem_free_secret(char *s)
{
    if (s != NULL)
        mem_wipe(s, strlen(s));
    free(s);
}
