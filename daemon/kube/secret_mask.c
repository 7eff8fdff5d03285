/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/secret_mask.h"

#include <string.h>

/* SHORTEST: shorter words are no secrets, and would be found in any key by chance. PREFIXED: a word
 * that begins as a token and is at least so long is one. */
enum { SHORTEST = 8, PREFIXED = 20 };

/* "eyJ" is base64 of the beginning of a JSON object: a JWT. */
static const char *const prefixes[] = {"eyJ", "k8s-aws-v1.", "ya29."};

/* The length of the word at the beginning of s; 0 = no word begins there. */
static size_t word_of(struct str s, const char *signs)
{
    size_t n = 0;

    while (n < s.n &&
           ((s.p[n] >= '0' && s.p[n] <= '9') || (s.p[n] >= 'a' && s.p[n] <= 'z') ||
            (s.p[n] >= 'A' && s.p[n] <= 'Z') || (s.p[n] != '\0' && strchr(signs, s.p[n]) != NULL)))
        n++;
    return n;
}

static bool is_token(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        size_t n = strlen(prefixes[i]);

        if (word.n >= PREFIXED && memcmp(word.p, prefixes[i], n) == 0)
            return true;
    }
    return false;
}

/* Has `in` these bytes anywhere? word has at least one. */
static bool contains(struct str in, struct str word)
{
    const char *at = in.p;

    for (size_t n = in.n; n >= word.n; n = in.n - (size_t)(at - in.p)) {
        at = memchr(at, word.p[0], n - word.n + 1);
        if (at == NULL)
            return false;
        if (memcmp(at, word.p, word.n) == 0)
            return true;
        at++;
    }
    return false;
}

/* The point that ends a sentence is none of the word. */
static struct str without_end(struct str word)
{
    while (word.n > 0 && word.p[word.n - 1] == '.')
        word.n--;
    return word;
}

static bool is_secret(struct str word, struct str secrets)
{
    struct str w = without_end(word);

    return w.n >= SHORTEST && (is_token(w) || contains(secrets, w));
}

/* A word that is no secret as a whole may have one in it: the last part of a path. */
static void put_parts(struct str word, struct str secrets, struct buf *out)
{
    for (size_t i = 0; i < word.n;) {
        struct str part = str_of(word.p + i, word_of(str_of(word.p + i, word.n - i), "-._~"));

        if (part.n == 0)
            buf_putc(out, word.p[i]);
        else if (is_secret(part, secrets))
            buf_puts(out, "***");
        else
            buf_append_str(out, part);
        i += part.n > 0 ? part.n : 1;
    }
}

void secret_mask_put(struct str text, struct str secrets, struct buf *out)
{
    for (size_t i = 0; i < text.n;) {
        struct str word = str_of(text.p + i, word_of(str_of(text.p + i, text.n - i), "-._~+/"));

        if (word.n == 0)
            buf_putc(out, text.p[i]);
        else if (is_secret(word, secrets))
            buf_puts(out, "***");
        else
            put_parts(word, secrets, out);
        i += word.n > 0 ? word.n : 1;
    }
}
