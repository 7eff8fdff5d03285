/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/warnings.h"

#include <string.h>

/* An API server cuts each warning to 256 characters if those of one answer have more than 4096
 * (apiserver pkg/endpoints/filters/warning.go). */
enum { TEXT_MAX = 1024 };

static void skip(struct str *s, size_t n)
{
    *s = str_of(s->p + n, s->n - n);
}

static void skip_any(struct str *s, const char *bytes)
{
    while (s->n > 0 && s->p[0] != '\0' && strchr(bytes, s->p[0]) != NULL)
        skip(s, 1);
}

/* Takes the word in front of the next blank. */
static struct str take_word(struct str *s)
{
    size_t n = 0;

    while (n < s->n && s->p[n] != ' ' && s->p[n] != '\n')
        n++;
    struct str word = str_of(s->p, n);
    skip(s, n);
    skip_any(s, " ");
    return word;
}

/* Takes a quoted-string (RFC 9110 5.6.4). False: there is none, or it has no end. */
static bool take_quoted(struct str *s, struct buf *text)
{
    buf_clear(text);
    if (s->n == 0 || s->p[0] != '"')
        return false;
    for (skip(s, 1); s->n > 0 && s->p[0] != '"' && s->p[0] != '\n'; skip(s, 1)) {
        if (s->p[0] == '\\' && s->n > 1 && s->p[1] != '\n')
            skip(s, 1);
        if (text->len < TEXT_MAX)
            buf_putc(text, s->p[0]);
    }
    bool has_end = s->n > 0 && s->p[0] == '"';
    if (has_end)
        skip(s, 1);
    return has_end;
}

/* Takes one warning: CODE AGENT "TEXT", perhaps with a date behind (RFC 7234 5.5). Bytes that are no
 * warning are left out up to the end of their line. False: there was no warning that is for people. */
static bool take_warning(struct str *lines, struct buf *text)
{
    skip_any(lines, " ,\n");
    struct str code = take_word(lines);
    struct buf date = {0};

    (void)take_word(lines); /* "-": API servers do not name themselves */
    bool is_good = take_quoted(lines, text);
    skip_any(lines, " ");
    (void)take_quoted(lines, &date);
    buf_free(&date);
    if (!is_good) {
        const char *end = lines->n > 0 ? memchr(lines->p, '\n', lines->n) : NULL;

        skip(lines, end != NULL ? (size_t)(end - lines->p) : lines->n);
    }
    return is_good && str_is(code, "299") && text->len > 0;
}

static bool was_told(const struct warnings *w, struct digest text)
{
    size_t i = 0;

    while (i < w->n && !digest_eq(w->told[i], text))
        i++;
    return i < w->n;
}

bool warnings_next(struct warnings *w, struct str *lines, struct buf *text)
{
    while (lines->n > 0 && w->n < WARNINGS_MAX) {
        if (!take_warning(lines, text))
            continue;
        struct digest digest = digest_of(text->data, text->len);

        if (was_told(w, digest))
            continue;
        w->told[w->n++] = digest;
        return true;
    }
    return false;
}
