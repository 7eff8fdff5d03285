/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_input - for targets whose input has several parts: takes them off its front.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Stands between the parts: no text that the daemon reads has this byte for another purpose, and an
 * editor shows it. */
#define FUZZ_PART '\x1e'

/* The next byte; 0 = the input is over. */
static inline unsigned fuzz_take_byte(struct str *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return (unsigned char)*in->p++;
}

/* A number below n (1 to 256). */
static inline unsigned fuzz_take_below(struct str *in, unsigned n)
{
    return fuzz_take_byte(in) % n;
}

/* The text before the next FUZZ_PART, or all that is left; empty when nothing is. */
static inline struct str fuzz_take_part(struct str *in)
{
    const char *end = in->n > 0 ? memchr(in->p, FUZZ_PART, in->n) : NULL;
    struct str part = str_of(in->p, end != NULL ? (size_t)(end - in->p) : in->n);
    size_t taken = part.n + (end != NULL ? 1 : 0);

    *in = str_of(in->p + taken, in->n - taken);
    return part;
}

/* Fails unless a person can read the text as one line: no control characters. */
static inline void fuzz_check_line(const char *text)
{
    ensure(text[0] != '\0');
    for (const char *p = text; *p != '\0'; p++)
        ensure((unsigned char)*p >= 0x20 && *p != 0x7f);
}

#endif
