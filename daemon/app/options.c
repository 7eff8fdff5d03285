/* SPDX-License-Identifier: Apache-2.0 */
#include "app/options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/log.h"
#include "base/nearest.h"

static const char usage[] =
    "usage: informerd [-c FILE]\n"
    "                 [-t [--with [NAME=]FILE] [--no-files] | --check-access |\n"
    "                  --print-config | --print-rbac [--subject S]]\n"
    "                 [--once [--timeout D]] [--dry-run]\n"
    "                 [--replay PATH [--speed N] [--hook HOOK] [--timeout D]]\n"
    "                 [--log-level LEVEL] [--log-format FORMAT]\n"
    "\n"
    "Keeps informer caches of Kubernetes resources and runs hooks when objects change.\n"
    "\n"
    "  -c, --config FILE      configuration (default /etc/informerd/informerd.conf)\n"
    "  -t, --check            read the whole configuration, print each problem, exit 0 or 78\n"
    "      --with [NAME=]FILE of --check: read FILE in the place of the file of the configuration\n"
    "                         that is called NAME (default: the base name of FILE)\n"
    "      --no-files         of --check: only the text of the configuration; look for no\n"
    "                         user, program, kubeconfig or other file of this machine\n"
    "      --check-access     check each server: name, TCP, TLS, credential, resources, and the\n"
    "                         right to list and watch; print a table, exit 0 or 77\n"
    "      --print-config     print it with every default, and the number of connections\n"
    "      --print-rbac       print the smallest roles and bindings that it needs, as YAML\n"
    "      --subject S        of --print-rbac, who is bound: User:NAME, Group:NAME or\n"
    "                         ServiceAccount:NAMESPACE:NAME (default: whom the credential names)\n"
    "      --once             sync, run every due hook, end: 0; 1 if a hook failed, 69 if a\n"
    "                         source could not sync\n"
    "      --replay PATH      contact no cluster, play a file of informerctl record, or a folder\n"
    "                         of JSON objects, into the hooks, end as --once\n"
    "      --speed N          of --replay: N times as fast as recorded (default 1); max: each\n"
    "                         change comes when the hooks have handled the one before\n"
    "      --hook HOOK        of --replay: this hook only\n"
    "      --timeout D        of --once and --replay, such as 90s (default of --once:\n"
    "                         limits.ready_timeout; of --replay: none)\n"
    "      --dry-run          start no hook, log what would run\n"
    "      --log-level L      error, warn, info, debug or trace\n"
    "      --log-format F     auto, text, json or journal\n"
    "  -V, --version          print the version\n"
    "  -h, --help             print this text\n";

/* Long options without a letter get numbers that no character has. */
enum {
    OPT_LOG_LEVEL = 256,
    OPT_LOG_FORMAT,
    OPT_CHECK_ACCESS,
    OPT_PRINT_CONFIG,
    OPT_PRINT_RBAC,
    OPT_SUBJECT,
    OPT_ONCE,
    OPT_TIMEOUT,
    OPT_DRY_RUN,
    OPT_WITH,
    OPT_NO_FILES,
    OPT_REPLAY,
    OPT_SPEED,
    OPT_HOOK,
};

static const struct option long_options[] = {
    {"config",       required_argument, NULL, 'c'             },
    {"check",        no_argument,       NULL, 't'             },
    {"with",         required_argument, NULL, OPT_WITH        },
    {"no-files",     no_argument,       NULL, OPT_NO_FILES    },
    {"check-access", no_argument,       NULL, OPT_CHECK_ACCESS},
    {"print-config", no_argument,       NULL, OPT_PRINT_CONFIG},
    {"print-rbac",   no_argument,       NULL, OPT_PRINT_RBAC  },
    {"subject",      required_argument, NULL, OPT_SUBJECT     },
    {"once",         no_argument,       NULL, OPT_ONCE        },
    {"timeout",      required_argument, NULL, OPT_TIMEOUT     },
    {"dry-run",      no_argument,       NULL, OPT_DRY_RUN     },
    {"replay",       required_argument, NULL, OPT_REPLAY      },
    {"speed",        required_argument, NULL, OPT_SPEED       },
    {"hook",         required_argument, NULL, OPT_HOOK        },
    {"log-level",    required_argument, NULL, OPT_LOG_LEVEL   },
    {"log-format",   required_argument, NULL, OPT_LOG_FORMAT  },
    {"version",      no_argument,       NULL, 'V'             },
    {"help",         no_argument,       NULL, 'h'             },
    {NULL,           0,                 NULL, 0               },
};

/* The index of a word in a list that ends with NULL, or -1. */
static int word_index(const char *const *words, const char *word)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static int pick_word(int *out, const char *option, const char *const *words, const char *word)
{
    *out = word_index(words, word);
    if (*out >= 0)
        return -1;
    fprintf(stderr, "informerd: %s: \"%s\" is none of", option, word);
    for (int i = 0; words[i] != NULL; i++)
        fprintf(stderr, " %s", words[i]);
    fputc('\n', stderr);
    return EXIT_CODE_USAGE;
}

static int pick_timeout(uint64_t *out, const char *text)
{
    if (amount_parse_duration(text, out) && *out > 0)
        return -1;
    fprintf(stderr, "informerd: --timeout: \"%s\" is no duration such as 90s\n", text);
    return EXIT_CODE_USAGE;
}

/* "max" and 0 are the same. */
static int pick_speed(struct options *o, const char *text)
{
    char *end = NULL;

    o->has_speed = true;
    o->speed = strcmp(text, "max") == 0 ? 0 : strtod(text, &end);
    if (end == NULL || (end != text && *end == '\0' && isfinite(o->speed) && o->speed >= 0))
        return -1;
    fprintf(stderr, "informerd: --speed: \"%s\" is neither a number such as 10 nor max\n", text);
    return EXIT_CODE_USAGE;
}

static int pick_subject(struct rbac_subject *out, const char *text)
{
    struct err err;

    if (rbac_parse_subject(text, out, &err) == ERR_OK)
        return -1;
    fprintf(stderr, "informerd: --subject: %s\n", err.text);
    return EXIT_CODE_USAGE;
}

static int pick_with(const char **out, const char *text)
{
    const char *equals = strchr(text, '=');

    if (*out != NULL)
        fputs("informerd: --with: one file at a time\n", stderr);
    else if (text[0] == '\0' || equals == text || (equals != NULL && equals[1] == '\0'))
        fprintf(stderr, "informerd: --with: \"%s\" is neither FILE nor NAME=FILE\n", text);
    else {
        *out = text;
        return -1;
    }
    return EXIT_CODE_USAGE;
}

/* Suggests an option for a word that getopt_long() has refused with a message. */
static int complain(const char *word)
{
    char name[40];
    struct nearest nearest = {.word = name};
    size_t dashes = strspn(word, "-");

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + dashes, "="), word + dashes);
    for (const struct option *o = long_options; o->name != NULL && word[0] == '-'; o++)
        nearest_try(&nearest, o->name);
    if (nearest.found != NULL && strcmp(nearest.found, name) != 0)
        fprintf(stderr, "Did you mean --%s? ", nearest.found);
    fputs("Try informerd --help\n", stderr);
    return EXIT_CODE_USAGE;
}

/* Takes one option; word is the one that getopt_long() has just read. Returns -1 to go on, or the exit
 * code; so do the functions pick_*(). */
static int take(struct options *o, int opt, const char *word)
{
    switch (opt) {
    case 'c':
        o->config = optarg;
        return -1;
    case 't':
        o->check = true;
        return -1;
    case OPT_WITH:
        return pick_with(&o->with, optarg);
    case OPT_NO_FILES:
        o->no_files = true;
        return -1;
    case OPT_CHECK_ACCESS:
        o->check_access = true;
        return -1;
    case OPT_PRINT_CONFIG:
        o->print_config = true;
        return -1;
    case OPT_PRINT_RBAC:
        o->print_rbac = true;
        return -1;
    case OPT_SUBJECT:
        return pick_subject(&o->subject, optarg);
    case OPT_ONCE:
        o->once = true;
        return -1;
    case OPT_TIMEOUT:
        return pick_timeout(&o->timeout_ms, optarg);
    case OPT_DRY_RUN:
        o->dry_run = true;
        return -1;
    case OPT_REPLAY:
        o->replay = optarg;
        return -1;
    case OPT_SPEED:
        return pick_speed(o, optarg);
    case OPT_HOOK:
        o->hook = optarg;
        return -1;
    case OPT_LOG_LEVEL:
        return pick_word(&o->log_level, "--log-level", log_level_words, optarg);
    case OPT_LOG_FORMAT:
        return pick_word(&o->log_format, "--log-format", log_format_words, optarg);
    case 'V':
        puts("informerd " INFORMERD_VERSION);
        return EXIT_CODE_OK;
    case 'h':
        fputs(usage, stdout);
        return EXIT_CODE_OK;
    default:
        return complain(word);
    }
}

/* Finds options that do not fit together. argument: the first argument that is no option, or
 * NULL. */
static int check_whole(const struct options *o, const char *argument)
{
    bool other = o->check || o->check_access || o->print_config || o->print_rbac || o->once;

    if (o->timeout_ms > 0 && !o->once && o->replay == NULL)
        fputs("informerd: --timeout belongs to --once or --replay. Try informerd --help\n", stderr);
    else if ((o->with != NULL || o->no_files) && !o->check)
        fprintf(stderr, "informerd: %s belongs to --check. Try informerd --help\n",
                o->with != NULL ? "--with" : "--no-files");
    else if ((o->has_speed || o->hook != NULL) && o->replay == NULL)
        fprintf(stderr, "informerd: %s belongs to --replay. Try informerd --help\n",
                o->has_speed ? "--speed" : "--hook");
    else if (o->replay != NULL && other)
        fputs("informerd: --replay goes with --speed, --hook, --timeout and --dry-run only. Try "
              "informerd --help\n",
              stderr);
    else if (o->subject.name.n > 0 && !o->print_rbac)
        fputs("informerd: --subject belongs to --print-rbac. Try informerd --help\n", stderr);
    else if (argument != NULL)
        fprintf(stderr, "informerd: %s: unexpected argument. Try informerd --help\n", argument);
    else
        return -1;
    return EXIT_CODE_USAGE;
}

int options_parse(struct options *o, int argc, char **argv)
{
    int opt;
    int code = -1;

    *o = (struct options){.config = OPTIONS_CONFIG, .speed = 1, .log_level = -1, .log_format = -1};
    while (code < 0 && (opt = getopt_long(argc, argv, "c:tVh", long_options, NULL)) != -1)
        code = take(o, opt, argv[optind - 1]);
    if (code >= 0)
        return code;
    return check_whole(o, optind < argc ? argv[optind] : NULL);
}
