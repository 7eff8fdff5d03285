/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "conf/main_conf.h"
#include "conf/setting_print.h"

/* ---- Text that libconfig 1.5 and 1.7 would read differently is found before either of them parses
 * it (docs/design.md "Configuration"). The scanner knows comments, strings, words, numbers and
 * punctuation; the grammar is left to libconfig. */

enum { DIGITS_MAX = 9 }; /* 999999999 fits into 32 bits, which is all that libconfig 1.5 reads */

/* Moves over a text, whose NUL is at end, and blanks the parts that only one version of
 * libconfig accepts. */
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

/* Reports NUL bytes, @include (1.5 and 1.7 resolve it differently), trailing commas in arrays and
 * lists (1.5 refuses them, 1.7 does not) and whole numbers of more than nine digits (1.5 wraps them
 * around). Replaces each of them in text[0..n) by blanks, or a number by 1, so that the parser can
 * go on and find further problems. text[n] must be NUL. file is the name for messages. */
static void scan_text(char *text, size_t n, const char *file, struct problems *p)
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

/* ---- Files */

static void report_unread(const struct file_set_file *file, struct problems *p)
{
    struct where at = {file->shown, 0};

    if (file->error == EFBIG)
        problems_add(p, at, "is larger than 4MiB: that is no configuration");
    else if (file->error == EINVAL)
        problems_add(p, at, "is no regular file: remove it, or include other files");
    else
        problems_add(p, at, "cannot be read: %s",
                     strerror(file->error)); /* NOLINT(concurrency-mt-unsafe) */
}

/* libconfig stops at its first error. For a parse error it says no more than "syntax error", and it
 * names the line where the parser noticed, which is often one line too late. */
static void report_syntax(const config_t *config, const char *path, struct problems *p)
{
    const char *text = config_error_text(config);
    struct where at = {path, config_error_line(config)};

    if (text != NULL && strcmp(text, "syntax error") != 0)
        problems_add(p, at, "%s", text);
    else
        problems_add(
            p, at,
            "syntax error here or shortly before (a missing quote, semicolon or bracket?); "
            "what follows in this file was not checked");
}

/* Parses a copy of the text into c; false after a syntax error. A file with a syntax error gives no
 * settings at all: the last group before the error may be half a hook. */
static bool parse(struct conf *c, const struct setting_reader *r, struct str bytes)
{
    struct buf text = {0};
    config_t config;

    config_init(&config);
    buf_append_str(&text, bytes);
    buf_cstr(&text); /* ends the text with NUL */
    scan_text(text.data, text.len, r->file, r->problems);
    bool parsed = config_read_string(&config, text.data) == CONFIG_TRUE;
    if (parsed)
        setting_read(r, main_conf_settings, c, config_root_setting(&config));
    else
        report_syntax(&config, r->file, r->problems);
    config_destroy(&config);
    buf_free(&text);
    return parsed;
}

/* A file that two patterns match, or that the main file includes as itself, is read once. Otherwise
 * each of its names would be reported as given twice. */
static bool was_read(const struct conf *c, const char *path)
{
    for (size_t i = 0; i < c->n_files; i++)
        if (strcmp(c->files[i].path, path) == 0)
            return true;
    return false;
}

/* Reads the file at path into c; false after a report. The first one is the main file. Its name is kept for
 * as long as c lives, because the places of values point to it. */
static bool read_file(struct conf *c, struct file_set *files, const char *path, struct problems *p)
{
    const struct file_set_key key = {.path = path, .may_be_pipe = c->n_files == 0};
    const struct file_set_file *file = file_set_read(files, &key);
    const struct conf_file new = {mem_strdup(path), mem_strdup(file->shown), file->stands_in};

    c->files = mem_grow(c->files, c->n_files, sizeof(*c->files));
    c->files[c->n_files++] = new;
    if (file->error != 0) {
        report_unread(file, p);
        return false;
    }
    const struct setting_reader r = {
        .file = new.shown,
        .main_file = c->n_files > 1 ? c->files[0].shown : NULL,
        .problems = p,
    };
    return parse(c, &r, buf_str(&file->text));
}

/* Reads the files that one element of include matches; false if a problem was reported. */
static bool read_matches(struct conf *c, struct file_set *files, const struct conf_str *item,
                         const char *pattern, struct problems *p)
{
    const struct file_set_names *found = file_set_match(files, pattern);
    bool ok = found->error == 0;

    if (!ok)
        problems_add(p, item->at, "include: cannot search %s", pattern);
    for (size_t i = 0; i < found->n; i++)
        if (!was_read(c, found->v[i]))
            ok = read_file(c, files, found->v[i], p) && ok;
    return ok;
}

/* Reads the main file at path and all files that it includes into c, which is zeroed, and fills in
 * defaults. A file that cannot be read or parsed is reported and passed over. Then the function
 * returns false, and the caller does not check references between settings: the cluster, watch or
 * hook that a reference names may stand in the file that is missing. */
static bool read_files(struct conf *c, struct file_set *files, const char *path, struct problems *p)
{
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash + 1 - path) : 0; /* length, with the slash */

    setting_defaults(main_conf_settings, c);
    bool ok = read_file(c, files, path, p);
    /* Only the main file may have include (read_one() in conf/setting.c), so this list does not
     * grow while files are read. */
    for (size_t i = 0; i < c->include.n; i++) {
        const char *name = c->include.v[i].v;
        char *pattern = mem_printf("%.*s%s", name[0] == '/' ? 0 : folder, path, name);

        ok = read_matches(c, files, &c->include.v[i], pattern, p) && ok;
        free(pattern);
    }
    return ok;
}

/* ---- The whole configuration */

/* The checks that need all files. Clusters come before watches, and watches before views and hooks,
 * only for the reader: references are looked up by name, so no check relies on another one. */
static void check_all(struct conf *c, struct problems *p)
{
    struct where at = {c->files[0].shown, 0};

    main_conf_check(c, p);
    for (size_t i = 0; i < c->n_clusters; i++)
        cluster_conf_check(&c->clusters[i], p);
    for (size_t i = 0; i < c->n_watches; i++)
        watch_conf_check(c, &c->watches[i], p);
    for (size_t i = 0; i < c->n_views; i++)
        view_conf_check(c, &c->views[i], p);
    hook_conf_check(c, p);
    if (c->n_watches > 0 && c->n_clusters == 0)
        problems_add(p, at,
                     "there are watches, but no cluster: add clusters : { NAME : { ... }; };");
}

/* The settings of a watch as text, without its name: equal texts are equal watches. */
struct printed {
    struct map_node node; /* in the map if no watch before it has this text */
    struct buf text;
    size_t first; /* index of the first watch with this text */
};

/* Finds the first watch with the text of p, or enters p as the first one. p->first is its own index
 * before. */
static void find_first(struct map *by_text, struct printed *p)
{
    struct map_node *node = map_get(by_text, buf_str(&p->text));

    if (node != NULL)
        p->first = map_entry(node, struct printed, node)->first;
    else
        map_put(by_text, &p->node, buf_str(&p->text));
}

/* Sets conf_watch.first of all watches, for conf_watch_equal(). Each watch is printed once and
 * found by its text: there may be thousands, and comparing all pairs would take long. Places in
 * files are no part of the text. Comes behind check_all(), which fills in cluster and persist. */
static void find_equal_watches(struct conf *c)
{
    struct map by_text = {0};
    struct printed *v = mem_array(c->n_watches + 1, sizeof(*v));

    for (size_t i = 0; i < c->n_watches; i++) {
        v[i].first = i;
        setting_print(watch_conf_settings, &c->watches[i], 0, &v[i].text);
        find_first(&by_text, &v[i]);
        c->watches[i].first = v[i].first;
    }
    /* The map borrows its keys from the texts, so it is emptied first. */
    for (struct map_node *n; (n = map_first(&by_text)) != NULL;)
        map_remove(&by_text, n);
    for (size_t i = 0; i < c->n_watches; i++)
        buf_free(&v[i].text);
    free(v);
}

struct conf *conf_read(struct file_set *files, const char *path, struct problems *p)
{
    struct conf *c = mem_zalloc(sizeof(*c));
    size_t before = problems_count(p); /* p may hold problems of the caller */

    /* Without one of the files most references would lead nowhere: only the messages of that file
     * would help the user. */
    if (read_files(c, files, path, p))
        check_all(c, p);
    if (problems_count(p) > before)
        conf_destroy(&c);
    else
        find_equal_watches(c);
    return c;
}

void conf_destroy(struct conf **cp)
{
    struct conf *c = *cp;

    if (c == NULL)
        return;
    setting_fini(main_conf_settings, c);
    for (size_t i = 0; i < c->n_files; i++) {
        free(c->files[i].path);
        free(c->files[i].shown);
    }
    free(c->files);
    free(c);
    *cp = NULL;
}

const struct conf_cluster *conf_find_cluster(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_clusters; i++)
        if (strcmp(c->clusters[i].name.v, name) == 0)
            return &c->clusters[i];
    return NULL;
}

const struct conf_watch *conf_find_watch(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_watches; i++)
        if (strcmp(c->watches[i].name.v, name) == 0)
            return &c->watches[i];
    return NULL;
}

const struct conf_view *conf_find_view(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_views; i++)
        if (strcmp(c->views[i].name.v, name) == 0)
            return &c->views[i];
    return NULL;
}

const struct conf_hook *conf_find_hook(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_hooks; i++)
        if (strcmp(c->hooks[i].name.v, name) == 0)
            return &c->hooks[i];
    return NULL;
}

bool conf_list_has(const struct conf_list *l, const char *text)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].v, text) == 0)
            return true;
    return false;
}

/* find_equal_watches() has compared all watches already. */
bool conf_watch_equal(const struct conf_watch *a, const struct conf_watch *b)
{
    return a->first == b->first;
}

static void keep_text(struct conf_str *s, const struct conf_str *running)
{
    free(s->v);
    s->v = mem_strdup(running->v);
}

void conf_keep(struct conf *c, const struct conf *running)
{
    keep_text(&c->user, &running->user);
    keep_text(&c->state_dir, &running->state_dir);
    c->sandbox.v = running->sandbox.v;
    c->log.format.v = running->log.format.v;
    c->log.max_lines.v = running->log.max_lines.v;
    c->limits.state.v = running->limits.state.v;
    keep_text(&c->control.socket, &running->control.socket);
    keep_text(&c->control.group, &running->control.group);
}

const char *conf_textfile(const struct conf *c)
{
    return strcmp(c->metrics.textfile.v, "none") != 0 ? c->metrics.textfile.v : NULL;
}

const char *conf_state_folder(const struct conf *c)
{
    return strcmp(c->state_dir.v, "none") != 0 ? c->state_dir.v : NULL;
}

char *conf_expand(const char *text, const char *node_name)
{
    static const char variable[] = "${node_name}";
    struct buf out = {0};

    for (const char *at = strstr(text, variable); at != NULL; at = strstr(text, variable)) {
        buf_append(&out, text, (size_t)(at - text));
        buf_puts(&out, node_name);
        text = at + strlen(variable);
    }
    buf_puts(&out, text);
    buf_cstr(&out); /* adds the NUL; the caller owns the memory now */
    return out.data;
}
