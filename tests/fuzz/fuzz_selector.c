/* SPDX-License-Identifier: Apache-2.0 */
/* A label selector, a field selector and lines KEY=VALUE of an object. A selector that is taken judges the object
 * as a naive reading of its requirements does, in any order of the requirements. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fuzz_input.h"
#include "kube/selector.h"

/* The first line that begins with KEY=; a line that is KEY alone is one whose value is not known. */
static struct selector_value value_of(void *arg, struct str key)
{
    struct str rest = *(const struct str *)arg;

    while (rest.n > 0) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct str line = str_of(rest.p, end != NULL ? (size_t)(end - rest.p) : rest.n);
        size_t taken = line.n + (end != NULL ? 1 : 0);

        rest = str_of(rest.p + taken, rest.n - taken);
        if (line.n < key.n || (key.n > 0 && memcmp(line.p, key.p, key.n) != 0))
            continue;
        if (line.n == key.n)
            return (struct selector_value){.is = SELECTOR_UNKNOWN};
        if (line.p[key.n] == '=')
            return (struct selector_value){SELECTOR_PRESENT,
                                           str_of(line.p + key.n + 1, line.n - key.n - 1)};
    }
    return (struct selector_value){.is = SELECTOR_ABSENT};
}

static void count_label(void *arg, struct str label)
{
    size_t *count = arg;

    ensure(label.n > 0);
    ++*count;
}

/* Two selectors with a comma between them reject what either of them rejects. */
static void check_twice(const char *text, bool rejects, struct str *object)
{
    char *twice = mem_printf("%s,%s", text, text);

    if (text[0] != '\0' && selector_check_labels(twice, NULL) == ERR_OK)
        ensure(selector_rejects_labels(twice, value_of, object) == rejects);
    free(twice);
}

static void check_labels(const char *text, struct str object)
{
    struct err err = {0};
    size_t labels = 0;
    bool rejects = selector_rejects_labels(text, value_of, &object);

    selector_each_label(text, count_label, &labels);
    if (selector_check_labels(text, &err) != ERR_OK) {
        ensure(err.kind == ERR_CONFIG && err.text[0] != '\0' && !rejects);
        return;
    }
    ensure(labels > 0 || !rejects);
    check_twice(text, rejects, &object);
}

static void check_fields(const char *text, struct str object)
{
    struct err err = {0};
    bool rejects = selector_rejects_fields(text, value_of, &object);

    (void)selector_exact_field(text, "metadata.name");
    if (selector_check_fields(text, &err) != ERR_OK)
        ensure(err.kind == ERR_CONFIG && err.text[0] != '\0' && !rejects);
}

/* KEY=VALUE alone, as a person reads it: a present other value is rejected, and no value, too. */
static void check_plainly(const char *text, struct str object)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text || strpbrk(text, " \t\n\r!,()<>") != NULL ||
        strchr(equals + 1, '=') != NULL || selector_check_labels(text, NULL) != ERR_OK)
        return;
    struct selector_value v = value_of(&object, str_of(text, (size_t)(equals - text)));
    bool fits =
        v.is == SELECTOR_UNKNOWN || (v.is == SELECTOR_PRESENT && str_is(v.text, equals + 1));
    ensure(selector_rejects_labels(text, value_of, &object) == !fits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    struct str part = fuzz_take_part(&in);
    char *labels = mem_strndup(part.p, part.n);

    part = fuzz_take_part(&in);
    char *fields = mem_strndup(part.p, part.n);
    check_labels(labels, in);
    check_plainly(labels, in);
    check_fields(fields, in);
    free(labels);
    free(fields);
    return 0;
}
