/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "ctl/args.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/listing.h"
#include "ctl/reader.h"
#include "proto/url.h"

/* TIMEOUT_S: longer than people wait for a key. OBJECTS_BYTES: the keys of a larger source are not
 * offered, as its objects would have to be read for them. */
enum { TIMEOUT_S = 1, OBJECTS_BYTES = 4 * 1024 * 1024 };

/* The command line so far. */
struct line {
    const char *socket;
    const char *option; /* the last word is the value of this option; NULL = it is none */
    const char *words[ARGS_WORDS]; /* the command and its arguments, without the last word */
    size_t word_count;
    const char *last;  /* the word that is being typed */
    struct str prefix; /* "--output=" if the shell leaves that in the same word; else empty */
    struct buf *out;
};

/* ---- Candidates */

/* Appends the candidate if it begins with the typed word. */
static void offer(const struct line *l, struct str candidate)
{
    size_t n = strlen(l->last);

    if (candidate.n < n || memcmp(candidate.p, l->last, n) != 0)
        return;
    buf_append_str(l->out, l->prefix);
    buf_append_str(l->out, candidate);
    buf_putc(l->out, '\n');
}

static void offer_lines(const struct line *l, struct str lines)
{
    while (lines.n > 0) {
        const char *newline = memchr(lines.p, '\n', lines.n);
        size_t n = newline != NULL ? (size_t)(newline - lines.p) : lines.n;

        offer(l, str_of(lines.p, n));
        n += newline != NULL;
        lines = str_of(lines.p + n, lines.n - n);
    }
}

/* The answer to GET; empty if there is none. The caller frees it. */
static struct buf ask(const struct line *l, const char *target)
{
    struct client_reply reply;
    struct err err = {0};

    if (client_ask_within(l->socket, TIMEOUT_S, "GET", target, &reply, &err) != ERR_OK)
        return (struct buf){0};
    if (reply.status != 200)
        buf_free(&reply.body);
    return reply.body;
}

/* Offers the keys of the rows of an answer. */
static void offer_rows(const struct line *l, const struct listing *listing, enum listing_rows rows,
                       struct str json)
{
    struct buf names = {0};
    struct err err = {0};

    if (json.n > 0 && listing_put_keys(&names, listing, rows, json, &err) == ERR_OK)
        offer_lines(l, buf_str(&names));
    buf_free(&names);
}

static void offer_watches(const struct line *l, bool with_views)
{
    struct buf json = ask(l, "/v1/watches");

    offer_rows(l, &listing_watches, LISTING_GROUP, buf_str(&json));
    if (with_views)
        offer_rows(l, &listing_views, LISTING_GROUP, buf_str(&json));
    buf_free(&json);
}

static void offer_hooks(const struct line *l)
{
    struct buf json = ask(l, "/v1/hooks");

    offer_rows(l, &listing_hooks, LISTING_GROUP, buf_str(&json));
    buf_free(&json);
}

/* The size of a watch or view in the answer of /v1/watches. The bytes of a view are not known: about
 * 1 KiB an object. */
struct size_of {
    const char *name;
    uint64_t bytes;
};

static void on_size(void *arg, const struct leaf *leaf)
{
    struct size_of *s = arg;

    if (leaf->depth == 3 && str_is(leaf->path[1], s->name) && reader_leads(leaf, 2, "bytes"))
        s->bytes = reader_whole(leaf);
    if (leaf->depth == 3 && str_is(leaf->path[0], "views") && str_is(leaf->path[1], s->name) &&
        reader_leads(leaf, 2, "objects"))
        s->bytes = reader_whole(leaf) * 1024;
}

static void offer_keys_of_source(const struct line *l, const char *source)
{
    struct buf json = ask(l, "/v1/watches");
    struct size_of size = {.name = source};
    struct buf target = {0};
    struct err err = {0};

    bool fits = json.len > 0 && reader_scan(buf_str(&json), on_size, &size, &err) == ERR_OK &&
                size.bytes <= OBJECTS_BYTES;
    buf_free(&json);
    if (!fits)
        return;
    buf_puts(&target, "/v1/sources/");
    url_put_escaped(&target, str_c(source));
    buf_puts(&target, "/objects");
    json = ask(l, buf_cstr(&target));
    offer_rows(l, &listing_objects, LISTING_ARRAY, buf_str(&json));
    offer_rows(l, &listing_endpoints, LISTING_ARRAY, buf_str(&json));
    buf_free(&target);
    buf_free(&json);
}

/* The keys that are not handled: these are the ones that people ask about. */
static void offer_keys_of_hook(const struct line *l, const char *hook)
{
    struct buf target = {0};

    buf_puts(&target, "/v1/hooks/");
    url_put_escaped(&target, str_c(hook));
    buf_puts(&target, "/why");
    struct buf json = ask(l, buf_cstr(&target));
    offer_rows(l, &listing_explain, LISTING_GROUP, buf_str(&json));
    buf_free(&target);
    buf_free(&json);
}

/* ---- Which candidates */

static void offer_words(const struct line *l, const char *const *words)
{
    for (; *words != NULL; words++)
        offer(l, str_c(*words));
}

/* "accept|reject" */
static void offer_choices(const struct line *l, struct str choices)
{
    while (choices.n > 0) {
        const char *bar = memchr(choices.p, '|', choices.n);
        size_t n = bar != NULL ? (size_t)(bar - choices.p) : choices.n;

        if (str_is(str_of(choices.p, n), "LEVEL"))
            offer_words(l, log_level_words);
        else
            offer(l, str_of(choices.p, n));
        n += bar != NULL;
        choices = str_of(choices.p + n, choices.n - n);
    }
}

static void offer_values(const struct line *l)
{
    static const char *const outputs[] = {"json", "name", "wide", "table", NULL};

    if (strcmp(l->option, "output") == 0)
        offer_words(l, outputs);
    else if (strcmp(l->option, "for") == 0)
        offer_words(l, args_conditions());
    else if (strcmp(l->option, "watch") == 0)
        offer_watches(l, false);
    else if (strcmp(l->option, "hook") == 0)
        offer_hooks(l);
}

static void on_option(void *arg, const char *name)
{
    struct buf option = {0};

    buf_printf(&option, "--%s", name);
    offer(arg, buf_str(&option));
    buf_free(&option);
}

static void on_command(void *arg, const char *name)
{
    offer(arg, str_c(name));
}

/* Finds the argument at this place (0 = the first one) in the help text of the command:
 * "SOURCE [KEY]", "accept|reject WATCH", "HOOK [KEY] [--wait]", "WATCH..." for any number. Empty: it has
 * none there. */
static struct str argument_at(const char *arguments, size_t place)
{
    for (const char *at = arguments; *at != '\0'; at += strspn(at, " ]")) {
        bool in_brackets = *at == '[';

        at += in_brackets;
        if (*at == '-') { /* and its value: up to the bracket, or the next word */
            at += strcspn(at, in_brackets ? "]" : " ");
            at += *at == ' ' ? 1 + strcspn(at + 1, " ") : 0;
            continue;
        }
        size_t n = strcspn(at, " ]");
        size_t name = strcspn(at, ". ]");
        if (place-- == 0 || name < n)
            return str_of(at, name);
        at += n;
    }
    return str_c("");
}

static void offer_argument(const struct line *l)
{
    const char *arguments = command_arguments(l->words[0]);
    size_t place = l->word_count - 1;
    struct str wanted = arguments != NULL ? argument_at(arguments, place) : str_c("");
    const char *before = l->words[l->word_count - 1];

    if (str_is(wanted, "SOURCE"))
        offer_watches(l, true);
    else if (str_is(wanted, "WATCH"))
        offer_watches(l, false);
    else if (str_is(wanted, "HOOK"))
        offer_hooks(l);
    else if (str_is(wanted, "KEY") && str_is(argument_at(arguments, 0), "SOURCE"))
        offer_keys_of_source(l, before);
    else if (str_is(wanted, "KEY"))
        offer_keys_of_hook(l, before);
    else
        offer_choices(l, wanted);
}

/* "--output=js": the value is completed, and the candidates are whole words. zsh has it so. */
static void split_last(struct line *l)
{
    const char *equals = strchr(l->last, '=');
    char word[32];

    if (l->option != NULL || strncmp(l->last, "--", 2) != 0 || equals == NULL)
        return;
    snprintf(word, sizeof(word), "%.*s", (int)(equals - l->last), l->last);
    l->option = args_option_of(word);
    l->prefix = str_of(l->last, (size_t)(equals - l->last) + 1);
    l->last = equals + 1;
}

/* Reads the words before the last one. bash makes words of their own of "=" and of the text behind it. */
static void read_line(struct line *l, int count, const char *const *words)
{
    for (int i = 0; i < count - 1; i++) {
        if (strcmp(words[i], "=") == 0)
            continue;
        if (l->option != NULL) {
            if (strcmp(l->option, "socket") == 0)
                l->socket = words[i];
            l->option = NULL;
        } else if (strncmp(words[i], "--socket=", 9) == 0) { /* one word in zsh */
            l->socket = words[i] + 9;
        } else if (words[i][0] == '-') {
            l->option = args_option_of(words[i]);
        } else if (l->word_count < ARGS_WORDS) {
            l->words[l->word_count++] = words[i];
        }
    }
    l->last = strcmp(words[count - 1], "=") == 0 ? "" : words[count - 1];
    split_last(l);
}

void complete_words(struct buf *out, int count, const char *const *words)
{
    struct line l = {.socket = ARGS_SOCKET, .out = out};

    if (count == 0)
        return;
    read_line(&l, count, words);
    if (l.option != NULL)
        offer_values(&l);
    else if (l.last[0] == '-')
        command_each_option(l.word_count > 0 ? l.words[0] : NULL, on_option, &l);
    else if (l.word_count == 0)
        command_each(on_command, &l);
    else
        offer_argument(&l);
}
