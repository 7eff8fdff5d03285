/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/args.h"

#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/nearest.h"
#include "base/panic.h"

static enum err_kind set_socket(struct args *a, const char *value, struct err *err)
{
    if (value[0] == '\0')
        return err_set(err, ERR_CONFIG, 0, "--socket: a path is missing");
    a->socket = value;
    return ERR_OK;
}

static enum err_kind set_output(struct args *a, const char *value, struct err *err)
{
    static const char *const names[] = {
        [OUTPUT_TABLE] = "table",
        [OUTPUT_WIDE] = "wide",
        [OUTPUT_NAME] = "name",
        [OUTPUT_JSON] = "json",
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(value, names[i]) == 0) {
            a->output = (enum args_output)i;
            return ERR_OK;
        }
    }
    return err_set(err, ERR_CONFIG, 0, "-o %.40s: must be json, name, wide or table", value);
}

static enum err_kind set_timeout(struct args *a, const char *value, struct err *err)
{
    if (!amount_parse_duration(value, &a->timeout_ms))
        return err_set(err, ERR_CONFIG, 0,
                       "--timeout %.40s: must be a duration like 30s (units: ms, s, min, h, d)",
                       value);
    a->timeout = value;
    return ERR_OK;
}

const char *const *args_conditions(void)
{
    static const char *const conditions[] = {"synced", "ready", "idle", NULL};

    return conditions;
}

static enum err_kind set_for(struct args *a, const char *value, struct err *err)
{
    const char *const *known = args_conditions();

    while (*known != NULL && strcmp(*known, value) != 0)
        known++;
    if (*known == NULL)
        return err_set(err, ERR_CONFIG, 0, "--for %.40s: must be synced, ready or idle", value);
    a->wait_for = value;
    return ERR_OK;
}

static enum err_kind set_watch(struct args *a, const char *value, struct err *err)
{
    (void)err;
    a->watch = value;
    return ERR_OK;
}

static enum err_kind set_hook(struct args *a, const char *value, struct err *err)
{
    (void)err;
    a->hook = value;
    return ERR_OK;
}

#define FLAG(member) offsetof(struct args, member)

static const struct option {
    const char *name;
    char letter; /* '\0' = none */
    enum err_kind (*set)(struct args *a, const char *value, struct err *err);
    size_t flag; /* set is NULL, and the option takes no value: the bool that it sets */
} table[] = {
    {"socket",       '\0', set_socket,  0                 },
    {"output",       'o',  set_output,  0                 },
    {"timeout",      '\0', set_timeout, 0                 },
    {"for",          '\0', set_for,     0                 },
    {"watch",        '\0', set_watch,   0                 },
    {"hook",         '\0', set_hook,    0                 },
    {"wait",         '\0', NULL,        FLAG(wait)        },
    {"files",        '\0', NULL,        FLAG(files)       },
    {"follow",       'f',  NULL,        FLAG(follow)      },
    {"repeat",       'w',  NULL,        FLAG(repeat)      },
    {"with-secrets", '\0', NULL,        FLAG(with_secrets)},
    {"dry-run",      '\0', NULL,        FLAG(dry_run)     },
    {"help",         'h',  NULL,        FLAG(help)        },
    {"version",      'V',  NULL,        FLAG(version)     },
};

/* The option that a word names, or NULL. *value is the value in the same word ("--socket=X",
 * "-ojson"); NULL = it has none. */
static const struct option *find(const char *word, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        size_t n = strlen(table[i].name);

        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, table[i].name, n) == 0 &&
            (word[2 + n] == '\0' || word[2 + n] == '=')) {
            *value = word[2 + n] == '=' ? word + 3 + n : NULL;
            return &table[i];
        }
        if (word[0] == '-' && word[1] != '\0' && word[1] == table[i].letter) {
            *value = word[2] != '\0' ? word + 2 : NULL;
            return &table[i];
        }
    }
    return NULL;
}

static enum err_kind unknown_option(const char *word, struct err *err)
{
    char name[40];
    struct nearest nearest = {.word = name};
    size_t dashes = strspn(word, "-");

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + dashes, "="), word + dashes);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        nearest_try(&nearest, table[i].name);
    if (nearest.found == NULL)
        return err_set(err, ERR_CONFIG, 0, "unknown option %.80s", word);
    return err_set(err, ERR_CONFIG, 0, "unknown option %.80s (did you mean --%s?)", word,
                   nearest.found);
}

/* Sets the option at argv[*i]. If its value is the next word, *i moves on to that. */
static enum err_kind take_option(struct args *a, int argc, const char *const *argv, int *i,
                                 struct err *err)
{
    const char *word = argv[*i];
    const char *value = NULL;
    const struct option *option = find(word, &value);

    if (option == NULL)
        return unknown_option(word, err);
    a->given |= UINT32_C(1) << (option - table);
    if (option->set == NULL && value != NULL)
        return err_set(err, ERR_CONFIG, 0, "--%s takes no value", option->name);
    if (option->set == NULL) {
        *(bool *)((char *)a + option->flag) = true;
        return ERR_OK;
    }
    if (value == NULL) {
        if (*i + 1 >= argc)
            return err_set(err, ERR_CONFIG, 0, "%s: its value is missing", word);
        value = argv[++*i];
    }
    return option->set(a, value, err);
}

/* Whether a command takes the options is not known here: ctl/command checks that. */
enum err_kind args_parse(struct args *a, int argc, const char *const *argv, struct err *err)
{
    bool words_only = false;

    *a = (struct args){.socket = ARGS_SOCKET};
    for (int i = 1; i < argc; i++) {
        if (!words_only && strcmp(argv[i], "--") == 0) {
            words_only = true;
        } else if (!words_only && argv[i][0] == '-') {
            if (take_option(a, argc, argv, &i, err) != ERR_OK)
                return ERR_CONFIG;
        } else if (a->word_count == ARGS_WORDS) {
            return err_set(err, ERR_CONFIG, 0, "too many arguments: %.80s", argv[i]);
        } else {
            a->words[a->word_count++] = argv[i];
        }
    }
    return ERR_OK;
}

uint64_t args_timeout_ms(const struct args *a)
{
    uint64_t ms = a->timeout_ms;

    if (a->timeout == NULL)
        ensure(amount_parse_duration(ARGS_TIMEOUT, &ms));
    return ms;
}

const char *args_option_of(const char *word)
{
    const char *value = NULL;
    const struct option *option = find(word, &value);

    return option != NULL && option->set != NULL && value == NULL ? option->name : NULL;
}

bool args_has(const struct args *a, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return (a->given & UINT32_C(1) << i) != 0;
    return false;
}

void args_each_option(void (*cb)(void *arg, const char *name), void *arg)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        cb(arg, table[i].name);
}
