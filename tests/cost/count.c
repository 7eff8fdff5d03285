/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count - a library to preload (LD_PRELOAD) into the program cost: counts allocations and the bytes
 * that memcpy() and memmove() copy inside of measured(), and prints them at the end. It stands apart
 * from the program so that it adds nothing to the instructions that are counted.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Names of the C library, without its headers: those have inline versions of some of them. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming,readability-inconsistent-declaration-parameter-name) */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);

/* For tests/cost/cost.c. */
void count_calls(bool on);

static bool counting;
static size_t allocations;
static size_t allocated;
static size_t copied;

void count_calls(bool on)
{
    counting = on;
}

static void count_allocation(size_t n)
{
    if (!counting)
        return;
    allocations++;
    allocated += n;
}

void *malloc(size_t n)
{
    count_allocation(n);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count_allocation(n * size);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count_allocation(n);
    return __libc_realloc(p, n);
}

/* memmove() of the C library does the work of all of them. */
static void *copy(void *to, const void *from, size_t n)
{
    static void *(*move)(void *, const void *, size_t);

    if (move == NULL)
        *(void **)&move = dlsym(RTLD_NEXT, "memmove");
    if (counting)
        copied += n;
    return move(to, from, n);
}

void *memcpy(void *to, const void *from, size_t n)
{
    return copy(to, from, n);
}

void *memmove(void *to, const void *from, size_t n)
{
    return copy(to, from, n);
}

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
    (void)room;
    return copy(to, from, n);
}

void *__memmove_chk(void *to, const void *from, size_t n, size_t room)
{
    (void)room;
    return copy(to, from, n);
}

__attribute__((destructor)) static void tell(void)
{
    printf("allocations %zu\nallocated_bytes %zu\ncopied_bytes %zu\n", allocations, allocated,
           copied);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming,readability-inconsistent-declaration-parameter-name) */
