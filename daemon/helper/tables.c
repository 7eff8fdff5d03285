/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The first word, so that a change of the format is noticed. */
static const uint64_t magic = 0x33736c6261746869;

/* ---- Out. Everything is a word of 64 bits, or a text: its length with the NUL, and its bytes. The
 * length 0 is NULL. An array is its count and its elements. */

static void put(struct buf *out, uint64_t word)
{
    buf_append(out, &word, sizeof(word));
}

static void put_text(struct buf *out, const char *s)
{
    size_t n = s != NULL ? strlen(s) + 1 : 0;

    put(out, n);
    buf_append(out, s != NULL ? s : "", n);
}

/* The count has the NULL at the end of the array; 0 is no array. */
static void put_texts(struct buf *out, const char *const *v)
{
    size_t n = 0;

    while (v != NULL && v[n] != NULL)
        n++;
    put(out, v != NULL ? n + 1 : 0);
    for (size_t i = 0; i < n; i++)
        put_text(out, v[i]);
}

static void put_output(struct buf *out, const struct helper_output *o)
{
    put(out, o != NULL);
    if (o == NULL)
        return;
    put_text(out, o->path);
    put(out, o->mode);
    put(out, o->set_owner);
    put(out, o->uid);
    put(out, o->gid);
}

/* The count has the end of the array; 0 is no array. */
static void put_contents(struct buf *out, const struct helper_content *v)
{
    size_t n = 0;

    while (v != NULL && v[n].path != NULL)
        n++;
    put(out, v != NULL ? n + 1 : 0);
    for (size_t i = 0; i < n; i++) {
        put_text(out, v[i].path);
        put(out, v[i].counts);
        put(out, v[i].counted);
    }
}

static void put_hook(struct buf *out, const struct helper_hook *h)
{
    put(out, h->kind);
    put_text(out, h->name);
    put_texts(out, h->argv);
    put_texts(out, h->check);
    put_texts(out, h->apply);
    put_output(out, h->output);
    put_contents(out, h->contents);
    put_texts(out, h->alone);
    put_texts(out, h->env);
    put(out, h->group_count);
    for (size_t i = 0; i < h->group_count; i++)
        put(out, h->groups[i]);
    put(out, h->rlimit_count);
    for (size_t i = 0; i < h->rlimit_count; i++) {
        put(out, (uint64_t)h->rlimits[i].resource);
        put(out, h->rlimits[i].soft);
        put(out, h->rlimits[i].hard);
    }
    put(out, h->capabilities);
    put(out, h->concurrency);
    put(out, h->kill_grace_ms);
    put(out, (uint64_t)h->kill_signal);
    put(out, h->kills_left);
    put(out, h->limits.memory_max);
    put(out, h->limits.pids_max);
    put(out, h->limits.cpu_max);
    put(out, h->limits.cpu_weight);
    put(out, h->umask);
    put(out, h->uid);
    put(out, h->gid);
    put(out, h->main_is_alike);
    put(out, h->change_user);
    put(out, h->no_new_privileges);
}

static void put_file(struct buf *out, const struct helper_file *f)
{
    put_text(out, f->path);
    put(out, f->path_trust.owners[0]);
    put(out, f->path_trust.owners[1]);
    put(out, f->path_trust.named_by);
}

void tables_encode(const struct helper_params *params, struct buf *out)
{
    put(out, magic);
    put(out, params->shared_runs);
    put(out, params->hook_count);
    for (size_t i = 0; i < params->hook_count; i++)
        put_hook(out, &params->hooks[i]);
    put(out, params->file_count);
    for (size_t i = 0; i < params->file_count; i++)
        put_file(out, &params->files[i]);
}

/* ---- In */

/* The parameters, and everything that they point to. */
struct tables {
    struct helper_params params;
    char *bytes; /* the texts point into them */
    void **blocks;
    size_t block_count;
};

struct reader {
    struct tables *t;
    const char *at;
    size_t left;
    bool is_broken; /* from then on everything is 0 or NULL */
};

static uint64_t take(struct reader *r)
{
    uint64_t word;

    if (r->left < sizeof(word))
        r->is_broken = true;
    if (r->is_broken)
        return 0;
    memcpy(&word, r->at, sizeof(word));
    r->at += sizeof(word);
    r->left -= sizeof(word);
    return word;
}

/* A word that is at most so large. */
static uint64_t take_up_to(struct reader *r, uint64_t most)
{
    uint64_t word = take(r);

    if (word > most)
        r->is_broken = true;
    return r->is_broken ? 0 : word;
}

static uint32_t take_u32(struct reader *r)
{
    return (uint32_t)take_up_to(r, UINT32_MAX);
}

static bool take_bool(struct reader *r)
{
    return take_up_to(r, 1) != 0;
}

/* A text ends with the only NUL in it. */
static const char *take_text(struct reader *r)
{
    size_t n = take(r);

    if (n > r->left || (n > 0 && memchr(r->at, '\0', n) != r->at + n - 1))
        r->is_broken = true;
    if (r->is_broken || n == 0)
        return NULL;
    const char *text = r->at;
    r->at += n;
    r->left -= n;
    return text;
}

/* A text that must be there. */
static const char *need_text(struct reader *r)
{
    const char *text = take_text(r);

    if (text == NULL)
        r->is_broken = true;
    return text;
}

/* A zeroed array that lives as long as the parameters. */
static void *take_array(struct reader *r, size_t n, size_t size)
{
    struct tables *t = r->t;

    t->blocks = mem_grow(t->blocks, t->block_count, sizeof(*t->blocks));
    return t->blocks[t->block_count++] = mem_array(n + 1, size);
}

/* The count of an array. Each element has a word at least, so that broken bytes cost no memory. */
static size_t take_count(struct reader *r)
{
    return take_up_to(r, r->left / sizeof(uint64_t));
}

static const char *const *take_texts(struct reader *r)
{
    size_t n = take_up_to(r, r->left / sizeof(uint64_t) + 1);

    if (n == 0)
        return NULL;
    const char **v = take_array(r, n, sizeof(*v));
    for (size_t i = 0; i + 1 < n; i++)
        v[i] = need_text(r);
    return v;
}

static const struct helper_content *take_contents(struct reader *r)
{
    size_t n = take_up_to(r, r->left / sizeof(uint64_t) + 1);

    if (n == 0)
        return NULL;
    struct helper_content *v = take_array(r, n, sizeof(*v));
    for (size_t i = 0; i + 1 < n; i++) {
        v[i].path = need_text(r);
        v[i].counts = take_bool(r);
        v[i].counted = take_bool(r);
    }
    return v;
}

static const struct helper_output *take_output(struct reader *r)
{
    if (!take_bool(r))
        return NULL;
    struct helper_output *o = take_array(r, 1, sizeof(*o));
    o->path = need_text(r);
    o->mode = take_u32(r);
    o->set_owner = take_bool(r);
    o->uid = take_u32(r);
    o->gid = take_u32(r);
    return o;
}

static void take_groups(struct reader *r, struct helper_hook *h)
{
    size_t n = take_count(r);
    gid_t *groups = take_array(r, n, sizeof(*groups));

    for (size_t i = 0; i < n; i++)
        groups[i] = take_u32(r);
    h->groups = groups;
    h->group_count = n;
}

static void take_rlimits(struct reader *r, struct helper_hook *h)
{
    size_t n = take_count(r);
    struct helper_rlimit *rlimits = take_array(r, n, sizeof(*rlimits));

    for (size_t i = 0; i < n; i++) {
        rlimits[i].resource = (int)take_up_to(r, INT32_MAX);
        rlimits[i].soft = take(r);
        rlimits[i].hard = take(r);
    }
    h->rlimits = rlimits;
    h->rlimit_count = n;
}

static bool is_empty(const char *const *v)
{
    return v != NULL && v[0] == NULL;
}

static void take_hook(struct reader *r, struct helper_hook *h)
{
    h->kind = (enum helper_kind)take_up_to(r, HELPER_TEXTFILE);
    h->name = take_text(r);
    h->argv = take_texts(r);
    h->check = take_texts(r);
    h->apply = take_texts(r);
    h->output = take_output(r);
    h->contents = take_contents(r);
    h->alone = take_texts(r);
    h->env = take_texts(r);
    take_groups(r, h);
    take_rlimits(r, h);
    h->capabilities = take(r);
    h->concurrency = take_u32(r);
    h->kill_grace_ms = take(r);
    h->kill_signal = (int)take_up_to(r, INT32_MAX);
    h->kills_left = take_bool(r);
    h->limits.memory_max = take(r);
    h->limits.pids_max = take(r);
    h->limits.cpu_max = take(r);
    h->limits.cpu_weight = take(r);
    h->umask = take_u32(r);
    h->uid = take_u32(r);
    h->gid = take_u32(r);
    h->main_is_alike = take_bool(r);
    h->change_user = take_bool(r);
    h->no_new_privileges = take_bool(r);
    /* The helper looks at these without asking whether they are there. */
    if (is_empty(h->argv) || h->env == NULL || is_empty(h->check) || is_empty(h->apply))
        r->is_broken = true;
}

static void take_file(struct reader *r, struct helper_file *f)
{
    f->path = need_text(r);
    f->path_trust.owners[0] = take_u32(r);
    f->path_trust.owners[1] = take_u32(r);
    f->path_trust.named_by = take_u32(r);
}

static void take_params(struct reader *r, struct helper_params *p)
{
    if (take(r) != magic)
        r->is_broken = true;
    p->shared_runs = take_u32(r);
    p->hook_count = take_count(r);
    struct helper_hook *hooks = take_array(r, p->hook_count, sizeof(*hooks));
    for (size_t i = 0; i < p->hook_count && !r->is_broken; i++)
        take_hook(r, &hooks[i]);
    p->hooks = hooks;
    p->file_count = take_count(r);
    struct helper_file *files = take_array(r, p->file_count, sizeof(*files));
    for (size_t i = 0; i < p->file_count && !r->is_broken; i++)
        take_file(r, &files[i]);
    p->files = files;
}

enum err_kind tables_decode(struct str bytes, rlim_t nofile_soft, struct helper_params **out,
                            struct err *err)
{
    struct tables *t = MEM_NEW(struct tables, .params.nofile_soft = nofile_soft,
                               .bytes = mem_dup(bytes.p, bytes.n));
    struct reader r = {.t = t, .at = t->bytes, .left = bytes.n};

    *out = &t->params;
    take_params(&r, &t->params);
    if (!r.is_broken && r.left == 0)
        return ERR_OK;
    tables_free(out);
    return err_set(err, ERR_PROTOCOL, 0, "tables of the helper: broken %zu bytes before their end",
                   r.left);
}

void tables_free(struct helper_params **params)
{
    if (*params == NULL)
        return;
    struct tables *t = container_of(*params, struct tables, params);
    for (size_t i = 0; i < t->block_count; i++)
        free(t->blocks[i]);
    free(t->blocks);
    free(t->bytes);
    free(t);
    *params = NULL;
}
