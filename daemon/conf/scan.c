/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/scan.h"

#include <stdbool.h>
#include <string.h>

enum { DIGITS_MAX = 9 }; /* 999999999 fits into 32 bits, which is all that libconfig 1.5 reads */

/* Moves over a text, whose NUL is at end, and blanks what only one libconfig would take. */
struct scanner {
    char *at;
    char *end;
    struct where here;     /* the line of at */
    struct where comma_at; /* the line of comma */
    char *comma;           /* the last token if that is a comma, else NULL */
    struct problems *problems;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The characters of names and numbers, as libconfig sees them. */
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '*' || c == '.' || c == '+';
}

/* Moves on by one character and counts the lines. */
static void step(struct scanner *s)
{
    if (*s->at == '\n')
        s->here.line++;
    s->at++;
}

/* Moves to the end of the line. The line break is kept, so that lines keep their numbers. */
static void skip_line(struct scanner *s, bool blank)
{
    for (; s->at < s->end && *s->at != '\n'; s->at++)
        if (blank)
            *s->at = ' ';
}

static void skip_comment(struct scanner *s)
{
    s->at += 2;
    while (s->at < s->end && !(s->at[0] == '*' && s->at[1] == '/'))
        step(s);
    /* A comment without an end goes to the end of the text; libconfig reports it. */
    s->at = s->end - s->at < 2 ? s->end : s->at + 2;
}

/* Moves behind the closing quote. A quote or backslash behind a backslash does not end the
 * string. */
static void skip_string(struct scanner *s)
{
    for (s->at++; s->at < s->end && *s->at != '"'; step(s))
        if (*s->at == '\\' && s->at + 1 < s->end)
            step(s);
    if (s->at < s->end)
        s->at++;
}

/* Moves over one blank or one comment; false if there is a token at this place. */
static bool skip_blank(struct scanner *s)
{
    if (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n' || *s->at == '\f')
        step(s);
    else if (*s->at == '#' || (s->at[0] == '/' && s->at[1] == '/'))
        skip_line(s, false);
    else if (s->at[0] == '/' && s->at[1] == '*')
        skip_comment(s);
    else
        return false;
    return true;
}

/* Moves over a name, a word such as true, or a number. Reports a whole number that is too long. */
static void skip_word(struct scanner *s)
{
    char *start = s->at;
    bool number = is_digit(*start) || *start == '-' || *start == '+';

    while (s->at < s->end && is_word(*s->at))
        s->at++;
    size_t n = (size_t)(s->at - start);
    size_t sign = is_digit(*start) ? 0 : 1; /* a sign is no digit */
    if (!number || n - sign <= DIGITS_MAX || memchr(start, '.', n) != NULL)
        return;
    problems_add(s->problems, s->here, "the number %.*s is too large: nine digits at most",
                 n > 40 ? 40 : (int)n, start);
    /* A small number takes its place, as libconfig needs one here. */
    memset(start, ' ', n);
    start[0] = '1';
}

/* @include: 1.5 and 1.7 look for the file in different folders. Any other @ is left to the
 * parser. */
static void skip_directive(struct scanner *s)
{
    static const char include[] = "@include";

    if (strncmp(s->at, include, strlen(include)) != 0) {
        s->at++;
        return;
    }
    problems_add(s->problems, s->here,
                 "@include is not supported: it would look in the working directory; list the file "
                 "in include = [ ... ]");
    skip_line(s, true);
}

/* A comma counts as trailing if the very next token closes an array or a list; comments and blanks
 * between the two are no tokens. */
static void skip_punctuation(struct scanner *s)
{
    if ((*s->at == ']' || *s->at == ')') && s->comma != NULL) {
        problems_add(s->problems, s->comma_at,
                     "a comma before the closing %c: leave it out (libconfig 1.5 stops here)",
                     *s->at);
        *s->comma = ' ';
    }
    s->comma = *s->at == ',' ? s->at : NULL;
    s->comma_at = s->here;
    s->at++;
}

static void skip_token(struct scanner *s)
{
    char c = *s->at;

    if (c == '"')
        skip_string(s);
    else if (c == '@')
        skip_directive(s);
    else if (is_word(c))
        skip_word(s);
    else {
        skip_punctuation(s);
        return;
    }
    s->comma = NULL;
}

/* Only the first NUL byte is reported: a binary file has thousands. They are blanked because
 * libconfig takes a C string and would not see the rest. */
static void blank_nuls(char *text, size_t n, const char *file, struct problems *p)
{
    struct where at = {file, 1};
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n')
            at.line++;
        if (text[i] != '\0')
            continue;
        if (!found)
            problems_add(p, at, "a NUL byte: this is no text file");
        found = true;
        text[i] = ' ';
    }
}

void scan_text(char *text, size_t n, const char *file, struct problems *p)
{
    struct scanner s = {
        .at = text, .end = text + n, .here = {file, 1},
                  .problems = p
    };

    blank_nuls(text, n, file, p);
    while (s.at < s.end)
        if (!skip_blank(&s))
            skip_token(&s);
}
