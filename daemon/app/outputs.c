/* SPDX-License-Identifier: Apache-2.0 */
#include "app/outputs.h"

#include <stdlib.h>
#include <string.h>

#include "app/identity.h"
#include "base/mem.h"
#include "base/path_template.h"

char *outputs_template(const struct conf_hook *h, const char *node_name)
{
    return h->output.v[0] != '\0' ? conf_expand(h->output.v, node_name) : NULL;
}

char *outputs_folder(const struct conf_hook *h)
{
    /* Any values will do: only the part before the first variable is used. */
    static const struct path_template_values any = {
        {"a", "a", "a", "a", "a"}
    };
    struct buf path = {0};
    size_t fixed = 0;
    char *folder = NULL;

    if (h->output.v[0] != '\0' &&
        path_template_expand(h->output.v, &any, &path, &fixed, NULL) == ERR_OK)
        folder = mem_strndup(path.data, fixed);
    buf_free(&path);
    return folder;
}

/* Copies a program and its arguments, with ${file} replaced if file is not NULL. NULL if there is
 * no program. free_argv() frees the array and its strings. */
static char **copy_argv(const struct conf_list *list, const char *file)
{
    char **argv = list->n > 0 ? mem_array(list->n + 1, sizeof(*argv)) : NULL;

    for (size_t i = 0; i < list->n; i++)
        argv[i] =
            file != NULL ? path_template_put_file(list->v[i].v, file) : mem_strdup(list->v[i].v);
    return argv;
}

char **outputs_apply(const struct conf_hook *h, const char *node_name)
{
    char *template = h->mode.v != CONF_MODE_OBJECT ? outputs_template(h, node_name) : NULL;
    char **argv = copy_argv(&h->apply, template);

    free(template);
    return argv;
}

/* The template was checked by conf before ${node_name} was replaced. The name of a node may hold
 * anything, so the result is checked again. */
static enum err_kind check_template(const char *template, struct err *err)
{
    unsigned used;

    if (path_template_check(template, &used, err) == ERR_OK)
        return ERR_OK;
    return err_wrap(err, "output \"%.160s\"", template);
}

enum err_kind outputs_fill(const struct conf_hook *h, const char *node_name,
                           struct helper_hook *out, struct err *err)
{
    char *template = outputs_template(h, node_name);
    struct helper_output *o;

    if (template == NULL)
        return ERR_OK;
    o = MEM_NEW(struct helper_output, .path = template, .mode = (mode_t)h->output_mode.v,
                .set_owner = h->output_owner.v[0] != '\0');
    out->output = o;
    /* The helper replaces ${file} of check, as only it knows the path of the new file. apply has
     * ${file} only where the hook has one file. */
    out->check = (const char *const *)copy_argv(&h->check, NULL);
    out->apply = (const char *const *)outputs_apply(h, node_name);
    if (check_template(template, err) != ERR_OK)
        return err->kind;
    return o->set_owner ? identity_find_owner(h->output_owner.v, &o->uid, &o->gid, err) : ERR_OK;
}

static void free_const(const void *p)
{
    void *memory;

    /* The memory was allocated here and is const for its users only; -Wcast-qual refuses a cast. */
    memcpy(&memory, &p, sizeof(memory));
    free(memory);
}

static void free_argv(const char *const *argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        free_const(argv[i]);
    free_const(argv);
}

void outputs_fini(const struct helper_hook *h)
{
    free_argv(h->check);
    free_argv(h->apply);
    if (h->output != NULL)
        free_const(h->output->path);
    free_const(h->output);
}
