/* SPDX-License-Identifier: Apache-2.0 */
#include "app/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/log.h"

static const char usage[] =
    "usage: informerd [-c FILE]\n"
    "                 [-t | --check-access | --print-config | --print-rbac [--subject S]]\n"
    "                 [--once [--timeout D]] [--dry-run]\n"
    "                 [--log-level LEVEL] [--log-format FORMAT]\n"
    "\n"
    "Keeps informer caches of Kubernetes resources and runs hooks when objects change.\n"
    "\n"
    "  -c, --config FILE      configuration (default /etc/informerd/informerd.conf)\n"
    "  -t, --check            read the whole configuration, print each problem, exit 0 or 78\n"
    "      --check-access     check each server: name, TCP, TLS, credential, resources, and the\n"
    "                         right to list and watch; print a table, exit 0 or 77\n"
    "      --print-config     print it with every default, and the number of connections\n"
    "      --print-rbac       print the smallest roles and bindings that it needs, as YAML\n"
    "      --subject S        of --print-rbac, who is bound: User:NAME, Group:NAME or\n"
    "                         ServiceAccount:NAMESPACE:NAME (default: whom the credential names)\n"
    "      --once             sync, run every due hook, end: 0; 1 if a hook failed, 69 if a\n"
    "                         source could not sync\n"
    "      --timeout D        of --once, such as 90s (default: limits.ready_timeout)\n"
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
};

static const struct option long_options[] = {
    {"config",       required_argument, NULL, 'c'             },
    {"check",        no_argument,       NULL, 't'             },
    {"check-access", no_argument,       NULL, OPT_CHECK_ACCESS},
    {"print-config", no_argument,       NULL, OPT_PRINT_CONFIG},
    {"print-rbac",   no_argument,       NULL, OPT_PRINT_RBAC  },
    {"subject",      required_argument, NULL, OPT_SUBJECT     },
    {"once",         no_argument,       NULL, OPT_ONCE        },
    {"timeout",      required_argument, NULL, OPT_TIMEOUT     },
    {"dry-run",      no_argument,       NULL, OPT_DRY_RUN     },
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

static int pick_subject(struct rbac_subject *out, const char *text)
{
    struct err err;

    if (rbac_parse_subject(text, out, &err) == ERR_OK)
        return -1;
    fprintf(stderr, "informerd: --subject: %s\n", err.text);
    return EXIT_CODE_USAGE;
}

/* Takes one option. Returns -1 to go on, or the exit code; so do pick_word(), pick_timeout() and
 * pick_subject(). */
static int take(struct options *o, int opt)
{
    switch (opt) {
    case 'c':
        o->config = optarg;
        return -1;
    case 't':
        o->check = true;
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
        fputs("Try informerd --help\n", stderr);
        return EXIT_CODE_USAGE;
    }
}

/* Finds options that do not fit together. argument: the first argument that is no option, or
 * NULL. */
static int check_whole(const struct options *o, const char *argument)
{
    if (o->timeout_ms > 0 && !o->once)
        fputs("informerd: --timeout belongs to --once. Try informerd --help\n", stderr);
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

    *o = (struct options){
        .config = "/etc/informerd/informerd.conf", .log_level = -1, .log_format = -1};
    while (code < 0 && (opt = getopt_long(argc, argv, "c:tVh", long_options, NULL)) != -1)
        code = take(o, opt);
    if (code >= 0)
        return code;
    return check_whole(o, optind < argc ? argv[optind] : NULL);
}
