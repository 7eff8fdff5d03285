/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/program.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The value of PATH; "" = it is not set. */
static const char *path_of(const char *const *env)
{
    for (; *env != NULL; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return "";
}

/* Only the execute bits are looked at: root, who looks, may execute whatever anybody may. */
static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0;
}

/* Writes a path; false: there is no room for it. */
static bool put(char *out, size_t size, const char *folder, size_t n, const char *name)
{
    int length = snprintf(out, size, "%.*s%s%s", (int)n, folder, n > 0 ? "/" : "", name);

    return length >= 0 && (size_t)length < size;
}

bool program_find(const char *name, const char *const *env, char *out, size_t size)
{
    size_t n;

    if (strchr(name, '/') != NULL)
        return put(out, size, "", 0, name);
    for (const char *folder = path_of(env); folder[0] != '\0'; folder += n + (folder[n] == ':')) {
        n = strcspn(folder, ":");
        if (folder[0] == '/' && put(out, size, folder, n, name) && is_program(out))
            return true;
    }
    return false;
}
