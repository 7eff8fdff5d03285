/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/target.h"

#include <stdlib.h>

#include "base/mem.h"

/* The value of a hex digit, -1 if it is none. strchr() would find the NUL behind the digits. */
static int hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes one part in place; it can only become shorter. "%00" is refused, as keys and names are C
 * strings elsewhere. */
static bool decode(struct str *part, char *bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < part->n; i++) {
        char c = part->p[i];

        if (c == '%') {
            int high = part->n - i > 2 ? hex(part->p[i + 1]) : -1;
            int low = part->n - i > 2 ? hex(part->p[i + 2]) : -1;

            if (high < 0 || low < 0 || high + low == 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        bytes[n++] = c;
    }
    part->n = n;
    return true;
}

bool target_parse(struct target *t, struct str text)
{
    const char *query = text.n > 0 ? memchr(text.p, '?', text.n) : NULL;
    size_t n = query != NULL ? (size_t)(query - text.p) : text.n;

    *t = (struct target){0};
    if (n == 0 || text.p[0] != '/')
        return false;
    /* The split comes before decoding: "%2F" is a slash inside a part and separates nothing. */
    t->bytes = mem_dup(text.p, n);
    /* "/" has no parts. */
    for (size_t from = 1; n > 1 && from <= n && t->count < TARGET_PARTS;) {
        char *start = t->bytes + from;
        /* The last part takes all that is left: keys have a slash. */
        const char *slash = t->count + 1 < TARGET_PARTS ? memchr(start, '/', n - from) : NULL;
        size_t len = slash != NULL ? (size_t)(slash - start) : n - from;

        t->part[t->count] = str_of(start, len);
        if (!decode(&t->part[t->count], start)) {
            target_fini(t);
            return false;
        }
        t->count++;
        from += len + 1;
    }
    return true;
}

bool target_fits(const struct target *t, const char *const pattern[TARGET_PARTS])
{
    for (size_t i = 0; i < t->count; i++) {
        if (pattern[i] == NULL || t->part[i].n == 0)
            return false;
        if (strcmp(pattern[i], "*") != 0 && !str_is(t->part[i], pattern[i]))
            return false;
    }
    return t->count == TARGET_PARTS || pattern[t->count] == NULL;
}

void target_fini(struct target *t)
{
    free(t->bytes);
    *t = (struct target){0};
}
