/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler - attributes and the few macros that C lacks; pure.
 */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#include <stddef.h>

#define MUST_CHECK             __attribute__((warn_unused_result))
#define NORETURN               __attribute__((noreturn))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NOINLINE               __attribute__((noinline)) /* keeps a rare path out of a hot one */

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The struct that owns an embedded member. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
