/* SPDX-License-Identifier: Apache-2.0 */
/*
 * where - the place in the files that a configured value comes from, and the kinds of values;
 * pure. Each value begins with its place; line 0 means that the user did not write the value: it is
 * the default.
 */
#ifndef CONF_WHERE_H
#define CONF_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct where {
    const char *file; /* NULL = a default */
    int line;         /* from 1; 0 = a default, or the file as a whole */
};

/* v is never NULL; "" = not set. */
struct conf_str {
    struct where at;
    char *v;
};

struct conf_bool {
    struct where at;
    bool v;
};

struct conf_int {
    struct where at;
    int64_t v;
};

struct conf_num {
    struct where at;
    double v;
};

/* Whole numbers in the order of the file, each with its own line. */
struct conf_ints {
    struct where at;
    struct conf_int *v; /* NULL when n is 0 */
    size_t n;
};

/* A duration in milliseconds. */
struct conf_ms {
    struct where at;
    uint64_t v;
};

/* A size in bytes. */
struct conf_size {
    struct where at;
    uint64_t v;
};

/* One word of a fixed set, as its index. */
struct conf_word {
    struct where at;
    int v;
};

/* Several words of a fixed set: bit i stands for word i. */
struct conf_words {
    struct where at;
    unsigned v;
};

/* Two durations, min_ms <= max_ms. */
struct conf_span {
    struct where at;
    uint64_t min_ms;
    uint64_t max_ms;
};

/* Strings in the order of the file, each with its own line. */
struct conf_list {
    struct where at;
    struct conf_str *v; /* NULL when n is 0 */
    size_t n;
};

struct conf_pair {
    struct where at;
    char *name;
    char *value;
};

/* NAME = "value" pairs in the order of the file; names are distinct. */
struct conf_map {
    struct where at;
    struct conf_pair *v; /* NULL when n is 0 */
    size_t n;
};

#endif
