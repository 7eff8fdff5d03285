/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem - allocation that never returns NULL: without memory for its own small structures the program
 * aborts, and systemd starts it again (docs/design.md "Limits"). Sizes that a peer chooses are
 * limited before they come here; if they may still be large, mem_try_realloc() and buf_try_room() say that
 * there is no memory. free() releases everything.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

#include "base/compiler.h"

/* Uninitialised memory of n bytes (n = 0 gives a pointer to free as well). */
void *mem_alloc(size_t n) MUST_CHECK;

/* As realloc(), for a size that a peer chooses and that may be large: NULL, and p as it was, if there is no
 * memory. */
void *mem_try_realloc(void *p, size_t n) MUST_CHECK;

/* Zeroed memory of n bytes. */
void *mem_zalloc(size_t n) MUST_CHECK;

/* Zeroed array of n elements of size bytes; aborts on overflow. */
void *mem_array(size_t n, size_t size) MUST_CHECK;

/* Like realloc(). */
void *mem_realloc(void *p, size_t n) MUST_CHECK;

/* Makes room for one more element behind the n of an array v that grows one by one (NULL while
 * n = 0). The array is full when n is a power of two, and is then made twice as large: so nobody has
 * to keep its capacity. The new room is not initialised; aborts on overflow. */
void *mem_grow(void *v, size_t n, size_t size) MUST_CHECK;

/* Copy of n bytes. */
void *mem_dup(const void *p, size_t n) MUST_CHECK;

/* Copy of a string; NULL stays NULL. */
char *mem_strdup(const char *s) MUST_CHECK;

/* Copies of n strings. Release with mem_free_strs(). */
char **mem_strdups(const char *const *v, size_t n) MUST_CHECK;

/* Frees n strings and the array that holds them. */
void mem_free_strs(char **v, size_t n);

/* Copy of n bytes with a NUL behind them. */
char *mem_strndup(const char *s, size_t n) MUST_CHECK;

/* A new string from a format. */
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2) MUST_CHECK;

/* Overwrites n bytes in a way the compiler keeps, for secrets before free(). */
void mem_wipe(void *p, size_t n);

/* Wipes and frees a string; NULL is fine. */
void mem_free_secret(char *s);

/* A heap copy of a compound literal: MEM_NEW(struct x, .a = 1). */
#define MEM_NEW(type, ...) ((type *)mem_dup(&(const type){__VA_ARGS__}, sizeof(type)))

#endif
