/* SPDX-License-Identifier: Apache-2.0 */
#include "app/scripts.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

enum kind {
    KIND_OTHER,
    KIND_INTERPRETER,
    KIND_FILTER, /* an interpreter whose program mostly is an argument, with data behind it */
    KIND_STARTER,
};

/* code: letters of options that are followed by the text of a program; no script file comes after
 * them. A program that is missing here (KIND_OTHER) is taken for one that runs no scripts. */
static const struct program {
    const char *name;
    enum kind kind;
    const char *code;
} known[] = {
    {"sh",      KIND_INTERPRETER, "c" },
    {"ash",     KIND_INTERPRETER, "c" },
    {"bash",    KIND_INTERPRETER, "c" },
    {"dash",    KIND_INTERPRETER, "c" },
    {"ksh",     KIND_INTERPRETER, "c" },
    {"mksh",    KIND_INTERPRETER, "c" },
    {"rbash",   KIND_INTERPRETER, "c" },
    {"zsh",     KIND_INTERPRETER, "c" },
    {"fish",    KIND_INTERPRETER, "c" },
    {"python",  KIND_INTERPRETER, "cm"},
    {"pypy",    KIND_INTERPRETER, "cm"},
    {"perl",    KIND_INTERPRETER, "eE"},
    {"ruby",    KIND_INTERPRETER, "e" },
    {"lua",     KIND_INTERPRETER, "e" },
    {"luajit",  KIND_INTERPRETER, "e" },
    {"node",    KIND_INTERPRETER, "ep"},
    {"nodejs",  KIND_INTERPRETER, "ep"},
    {"php",     KIND_INTERPRETER, "r" },
    {"tclsh",   KIND_INTERPRETER, ""  },
    {"awk",     KIND_FILTER,      ""  },
    {"gawk",    KIND_FILTER,      ""  },
    {"mawk",    KIND_FILTER,      ""  },
    {"sed",     KIND_FILTER,      "e" },
    {"guile",   KIND_INTERPRETER, "c" },
    {"busybox", KIND_STARTER,     ""  },
    {"chrt",    KIND_STARTER,     ""  },
    {"env",     KIND_STARTER,     ""  },
    {"ionice",  KIND_STARTER,     ""  },
    {"ip",      KIND_STARTER,     ""  },
    {"nice",    KIND_STARTER,     ""  },
    {"nohup",   KIND_STARTER,     ""  },
    {"nsenter", KIND_STARTER,     ""  },
    {"runuser", KIND_STARTER,     ""  },
    {"setpriv", KIND_STARTER,     ""  },
    {"setsid",  KIND_STARTER,     ""  },
    {"stdbuf",  KIND_STARTER,     ""  },
    {"sudo",    KIND_STARTER,     ""  },
    {"taskset", KIND_STARTER,     ""  },
    {"timeout", KIND_STARTER,     ""  },
    {"unshare", KIND_STARTER,     ""  },
    {"xargs",   KIND_STARTER,     ""  },
};

static const struct program other = {"", KIND_OTHER, ""};

/* Finds a program by the last part of its path, without a version ("python3.11"). */
static const struct program *program_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t n = strlen(name);

    while (n > 0 && strchr("0123456789.", name[n - 1]) != NULL)
        n--;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strlen(known[i].name) == n && memcmp(known[i].name, name, n) == 0)
            return &known[i];
    return &other;
}

/* Is this an option like -c, or several in one like -ec, that is followed by the text of a
 * program? */
static bool brings_code(const struct program *p, const char *option)
{
    size_t n = strlen(option);

    return option[0] == '-' && option[1] != '-' && n > 1 && p->code[0] != '\0' &&
           strchr(p->code, option[n - 1]) != NULL;
}

/* Is this a path? "NAME=/VALUE", as env has it, is none. */
static bool is_path(const char *argument)
{
    size_t n = strcspn(argument, "/=");

    return argument[0] != '-' && argument[n] == '/' && strstr(argument, "${file}") == NULL;
}

void scripts_each(const struct conf_list *command, enum scripts_which which,
                  void (*fn)(void *arg, const struct conf_str *script), void *arg)
{
    const struct program *p = command->n > 0 ? program_of(command->v[0].v) : &other;
    bool is_value = false; /* the argument may be the value of the option before it */

    for (size_t i = 1; i < command->n && p->kind != KIND_OTHER; i++) {
        const char *argument = command->v[i].v;
        bool is_file = is_path(argument);
        const struct program *inner = program_of(argument);

        if (brings_code(p, argument))
            return;
        if (is_file && (which == SCRIPTS_POSSIBLE || p->kind != KIND_FILTER))
            fn(arg, &command->v[i]);
        if (p->kind == KIND_STARTER && (is_file || inner->kind != KIND_OTHER))
            p = inner; /* the arguments after it belong to this program */
        else if (is_file && (!is_value || which == SCRIPTS_THAT_RUN))
            return;
        is_value = argument[0] == '-' && strcmp(argument, "--") != 0;
    }
}
