/* SPDX-License-Identifier: Apache-2.0 */
#include "app/contents.h"

#include <stdbool.h>
#include <string.h>

#include "app/scripts.h"
#include "base/compiler.h"
#include "base/mem.h"

struct contents {
    struct helper_content *v;
    size_t n;
};

/* Does the package manager own the program? The path decides as it is written, and links are not
 * followed: many files below /usr/bin are links (/etc/alternatives, /usr/lib/jvm), and then only the
 * path in the configuration counts. A path that goes up is not trusted to stay there. */
static bool is_of_the_system(const char *path)
{
    static const char *const folders[] = {"/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"};

    if (strstr(path, "/..") != NULL)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

static void add(struct contents *c, struct helper_content content)
{
    c->v[c->n++] = content;
}

static void add_script(void *arg, const struct conf_str *script)
{
    add(arg, (struct helper_content){.path = script->v, .counts = !is_of_the_system(script->v)});
}

struct helper_content *contents_of(const struct conf_hook *h)
{
    const struct conf_list *const programs[] = {&h->command, &h->check, &h->apply};
    size_t most = h->files.n + 1;

    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        most += programs[i]->n;
    struct contents c = {.v = mem_array(most, sizeof(*c.v))};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (programs[i]->n > 0)
            add(&c, (struct helper_content){.path = programs[i]->v[0].v,
                                            .counts = !is_of_the_system(programs[i]->v[0].v),
                                            .counted = true});
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        scripts_each(programs[i], SCRIPTS_THAT_RUN, add_script, &c);
    for (size_t i = 0; i < h->files.n; i++)
        add(&c, (struct helper_content){h->files.v[i].v, .counts = true, .counted = true});
    return c.v;
}
