/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str - a view of bytes with their length; pure. A view owns nothing, and its bytes need not end
 * with a NUL.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

/* For printf: "%.*s", STR_ARG(s). */
#define STR_ARG(s) (int)(s).n, (s).n > 0 ? (s).p : ""

/* A view of n bytes at p. */
static inline struct str str_of(const char *p, size_t n)
{
    return (struct str){p, n};
}

/* A view of a C string; NULL is empty. */
static inline struct str str_c(const char *s)
{
    return (struct str){s, s != NULL ? strlen(s) : 0};
}

/* Are both C strings equal? NULL is equal to NULL only. */
static inline bool str_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Have both views the same bytes? */
static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Has a view the same bytes as a C string? */
static inline bool str_is(struct str a, const char *s)
{
    return str_eq(a, str_c(s));
}

/* Compares by bytes; a shorter text comes before a longer one that begins with it. < 0, 0 or > 0 as
 * memcmp(). */
static inline int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int d = n > 0 ? memcmp(a.p, b.p, n) : 0;

    if (d != 0)
        return d;
    return a.n < b.n ? -1 : a.n > b.n;
}

/* Takes the decimal digits at the beginning of *s, and leaves the rest in *s. False if there is none, or
 * if the number does not fit: *out is 0 then, and *s as it was. */
bool str_take_u64(struct str *s, uint64_t *out);

/* Copies the bytes to *at, where the caller has made room for them, and moves *at behind them.
 * Returns the view of the copy: this puts several texts into one block. */
static inline struct str str_put(char **at, struct str s)
{
    struct str copy = {*at, s.n};

    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

#endif
