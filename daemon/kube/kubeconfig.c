/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "kube/base64.h"

/* A kubeconfig has a few kilobytes. libyaml takes time that grows with the square of depth and
 * anchors, and a hundred bytes for each value, so all of these are bounded. */
enum { TEXT_MAX = 1024 * 1024, DEPTH_MAX = 32, ANCHORS_MAX = 100, VALUES_MAX = 100000 };

/* The document that is being read. The first error stays in *err, as reading ends with it. */
struct reader {
    const char *path;
    yaml_document_t doc;
    struct err *err;
};

/* A name of a context, cluster or user, and the line that mentions it, for errors. */
struct named {
    struct str name;
    size_t line;
};

static void describe(const struct reader *r, size_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void describe(const struct reader *r, size_t line, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_set(r->err, ERR_CONFIG, 0, "%s:%zu: %s", r->path, line, text);
}

/* Each fills the error with the line of the fault; the value of the expression is ERR_CONFIG. */
#define fail_line(r, line, ...) (describe((r), (line), __VA_ARGS__), ERR_CONFIG)
#define fail_at(r, node, ...)   fail_line((r), (node)->start_mark.line + 1, __VA_ARGS__)

static struct str bytes_of(const yaml_node_t *node)
{
    return str_of((const char *)node->data.scalar.value, node->data.scalar.length);
}

/* Finds the value of a key, or NULL. A key that is there twice is an error: YAML forbids it, and
 * parsers differ in which value they take. */
static enum err_kind find_key(struct reader *r, const yaml_node_t *map, const char *key,
                              yaml_node_t **value)
{
    *value = NULL;
    if (map->type != YAML_MAPPING_NODE)
        return fail_at(r, map, "a mapping with %s was expected", key);
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *name = yaml_document_get_node(&r->doc, p->key);

        if (name->type != YAML_SCALAR_NODE || !str_is(bytes_of(name), key))
            continue;
        if (*value != NULL)
            return fail_at(r, name, "%s is there twice", key);
        *value = yaml_document_get_node(&r->doc, p->value);
    }
    return ERR_OK;
}

/* Is the value null for YAML 1.1? Quoted words are strings; an empty string counts as null, too,
 * as client-go takes it for not given. */
static bool is_null(const yaml_node_t *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

    if (node->type != YAML_SCALAR_NODE)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(nulls); i++)
        if (str_is(bytes_of(node), nulls[i]) &&
            (i == 0 || node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE))
            return true;
    return false;
}

/* Finds the value of a key that holds one string, or NULL if there is no such key or the string
 * is empty. A NUL byte would cut the C string off without a word, so it is an error. */
static enum err_kind find_text(struct reader *r, const yaml_node_t *map, const char *key,
                               yaml_node_t **value)
{
    yaml_node_t *node = NULL;
    enum err_kind kind = find_key(r, map, key, &node);

    *value = NULL;
    if (kind != ERR_OK || node == NULL)
        return kind;
    if (node->type != YAML_SCALAR_NODE)
        return fail_at(r, node, "%s must be a string", key);
    if (memchr(bytes_of(node).p, '\0', bytes_of(node).n) != NULL)
        return fail_at(r, node, "%s holds a NUL byte", key);
    if (!is_null(node))
        *value = node;
    return ERR_OK;
}

/* Copies the string of a key to *out, which stays as it is if there is none. */
static enum err_kind copy_text(struct reader *r, const yaml_node_t *map, const char *key,
                               char **out)
{
    yaml_node_t *node = NULL;
    enum err_kind kind = find_text(r, map, key, &node);

    if (kind == ERR_OK && node != NULL)
        *out = mem_strndup(bytes_of(node).p, bytes_of(node).n);
    return kind;
}

/* Copies a file name. A relative one belongs to the folder of the kubeconfig, as in client-go. */
static enum err_kind copy_file(struct reader *r, const yaml_node_t *map, const char *key,
                               char **out)
{
    const char *slash = strrchr(r->path, '/');
    char *name = NULL;
    enum err_kind kind = copy_text(r, map, key, &name);

    if (name != NULL && name[0] != '/' && slash != NULL) {
        *out = mem_printf("%.*s/%s", (int)(slash - r->path), r->path, name);
        free(name);
    } else {
        *out = name;
    }
    return kind;
}

/* Decodes a base64 value to *out. It may be a private key, so every copy of it is wiped. */
static enum err_kind copy_data(struct reader *r, const yaml_node_t *map, const char *key,
                               char **out)
{
    yaml_node_t *node = NULL;
    enum err_kind kind = find_text(r, map, key, &node);
    struct buf data = {0};

    if (kind != ERR_OK || node == NULL)
        return kind;
    /* Decoded data is smaller than its text: with this room no realloc() leaves a copy of a key in
     * freed memory. */
    (void)!buf_reserve(&data, bytes_of(node).n);
    if (base64_decode(bytes_of(node), &data) && data.len > 0 &&
        memchr(data.data, '\0', data.len) == NULL)
        *out = mem_strndup(data.data, data.len);
    else
        kind = fail_at(r, node, "%s is not base64 of a PEM text", key);
    mem_wipe(data.data, data.len);
    buf_free(&data);
    return kind;
}

/* Reads KEY-data or else KEY, so that at most one of *file and *data is set: the data wins
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). */
static enum err_kind copy_file_or_data(struct reader *r, const yaml_node_t *map, const char *key,
                                       char **file, char **data)
{
    char data_key[64];

    snprintf(data_key, sizeof(data_key), "%s-data", key);
    enum err_kind kind = copy_data(r, map, data_key, data);
    if (kind == ERR_OK && *data == NULL)
        kind = copy_file(r, map, key, file);
    return kind;
}

/* Gives the items of a list at the top of the document; both NULL if there is no such list. */
static enum err_kind find_list(struct reader *r, const char *key, const yaml_node_item_t **item,
                               const yaml_node_item_t **end)
{
    yaml_node_t *list = NULL;
    enum err_kind kind = find_key(r, yaml_document_get_root_node(&r->doc), key, &list);

    *item = NULL;
    *end = NULL;
    if (kind != ERR_OK || list == NULL || is_null(list))
        return kind;
    if (list->type != YAML_SEQUENCE_NODE)
        return fail_at(r, list, "%s must be a list", key);
    *item = list->data.sequence.items.start;
    *end = list->data.sequence.items.top;
    return ERR_OK;
}

/* Looks at one entry {name, FIELD} of a list: gives its FIELD if it has the wanted name, and
 * leaves *out alone otherwise. */
static enum err_kind match_entry(struct reader *r, const yaml_node_t *entry, const char *field,
                                 const struct named *wanted, yaml_node_t **out)
{
    yaml_node_t *name = NULL;
    enum err_kind kind = find_text(r, entry, "name", &name);

    if (kind != ERR_OK || name == NULL || !str_eq(bytes_of(name), wanted->name))
        return kind;
    if (*out != NULL)
        return fail_at(r, entry, "%s \"%.*s\" is there twice", field, STR_ARG(wanted->name));
    kind = find_key(r, entry, field, out);
    if (kind == ERR_OK && (*out == NULL || (*out)->type != YAML_MAPPING_NODE))
        return fail_at(r, entry, "the entry \"%.*s\" has no %s", STR_ARG(wanted->name), field);
    return kind;
}

/* Finds the entry of the wanted name in a list of {name, FIELD} and gives its FIELD. All entries
 * are looked at, so that a name that is there twice is noticed. */
static enum err_kind find_entry(struct reader *r, const char *list_key, const char *field,
                                const struct named *wanted, yaml_node_t **out)
{
    const yaml_node_item_t *item = NULL;
    const yaml_node_item_t *end = NULL;
    enum err_kind kind = find_list(r, list_key, &item, &end);

    *out = NULL;
    for (; kind == ERR_OK && item < end; item++)
        kind = match_entry(r, yaml_document_get_node(&r->doc, *item), field, wanted, out);
    if (kind == ERR_OK && *out == NULL)
        return fail_line(r, wanted->line, "there is no %s \"%.*s\" in %s", field,
                         STR_ARG(wanted->name), list_key);
    return kind;
}

/* Is the value false by the words of YAML 1.1, or null? */
static bool is_false(const yaml_node_t *node)
{
    static const char *const words[] = {"false", "no", "off", "n"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (node->type == YAML_SCALAR_NODE && bytes_of(node).n == strlen(words[i]) &&
            strncasecmp(bytes_of(node).p, words[i], bytes_of(node).n) == 0)
            return true;
    return is_null(node);
}

/* Refuses settings that would change who is asked, or how, and are not supported: to ignore them
 * would send requests to the wrong server or as the wrong user. */
static enum err_kind refuse_keys(struct reader *r, const yaml_node_t *map, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        yaml_node_t *value = NULL;
        enum err_kind kind = find_key(r, map, *keys, &value);

        if (kind != ERR_OK)
            return kind;
        if (value != NULL && !is_null(value))
            return fail_at(r, value, "%s is not supported in this release", *keys);
    }
    return ERR_OK;
}

/* Servers are always verified. The setting may be there as false, which is its default. */
static enum err_kind refuse_insecure(struct reader *r, const yaml_node_t *map)
{
    yaml_node_t *value = NULL;
    enum err_kind kind = find_key(r, map, "insecure-skip-tls-verify", &value);

    if (kind == ERR_OK && value != NULL && !is_false(value))
        kind = fail_at(r, value,
                       "insecure-skip-tls-verify is not supported in this release: give the CA as "
                       "certificate-authority");
    return kind;
}

static enum err_kind read_cluster(struct reader *r, const yaml_node_t *map, struct kubeconfig *k)
{
    static const char *const refused[] = {"proxy-url", NULL};
    enum err_kind kind = refuse_keys(r, map, refused);

    if (kind == ERR_OK)
        kind = refuse_insecure(r, map);
    if (kind == ERR_OK)
        kind = copy_text(r, map, "server", &k->server);
    if (kind == ERR_OK && k->server == NULL)
        kind = fail_at(r, map, "the cluster has no server");
    if (kind == ERR_OK)
        kind = copy_text(r, map, "tls-server-name", &k->tls_server_name);
    if (kind == ERR_OK)
        kind = copy_file_or_data(r, map, "certificate-authority", &k->ca_file, &k->ca_data);
    return kind;
}

/* Reads the credentials of the user. A certificate is of no use without its key, nor a key
 * without its certificate. */
static enum err_kind read_user(struct reader *r, const yaml_node_t *map, struct kubeconfig *k)
{
    static const char *const refused[] = {"exec", "auth-provider", "username",  "password",
                                          "as",   "as-uid",        "as-groups", "as-user-extra",
                                          NULL};
    enum err_kind kind = refuse_keys(r, map, refused);

    if (kind == ERR_OK)
        kind = copy_file_or_data(r, map, "client-certificate", &k->client_cert_file,
                                 &k->client_cert_data);
    if (kind == ERR_OK)
        kind = copy_file_or_data(r, map, "client-key", &k->client_key_file, &k->client_key_data);
    if (kind == ERR_OK)
        kind = copy_text(r, map, "token", &k->token);
    if (kind == ERR_OK)
        kind = copy_file(r, map, "tokenFile", &k->token_file);
    if (kind != ERR_OK)
        return kind;
    bool cert = k->client_cert_file != NULL || k->client_cert_data != NULL;
    bool key = k->client_key_file != NULL || k->client_key_data != NULL;
    if (cert && !key)
        return fail_at(r, map, "client-certificate needs client-key");
    if (key && !cert)
        return fail_at(r, map, "client-key needs client-certificate");
    return ERR_OK;
}

/* Chooses the context: the wanted one, else current-context. The line is that of the name in the
 * file; a context from the caller has no line, so an error names line 1. */
static enum err_kind choose_context(struct reader *r, const char *wanted, struct named *out)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->doc);
    yaml_node_t *current = NULL;

    *out = (struct named){str_c(wanted), 1};
    if (out->name.n > 0)
        return ERR_OK;
    enum err_kind kind = find_text(r, root, "current-context", &current);
    if (kind != ERR_OK)
        return kind;
    if (current == NULL)
        return fail_at(r, root, "there is no current-context: name a context");
    *out = (struct named){bytes_of(current), current->start_mark.line + 1};
    return ERR_OK;
}

/* Finds the cluster or user (field) that the context names. */
static enum err_kind follow(struct reader *r, const yaml_node_t *context, const char *list_key,
                            const char *field, yaml_node_t **out)
{
    yaml_node_t *name = NULL;
    enum err_kind kind = find_text(r, context, field, &name);

    if (kind != ERR_OK)
        return kind;
    if (name == NULL)
        return fail_at(r, context, "the context names no %s", field);
    struct named wanted = {bytes_of(name), name->start_mark.line + 1};
    return find_entry(r, list_key, field, &wanted, out);
}

/* Follows the references: context, then cluster and user, then their settings. Entries of other
 * contexts are not looked at, so unsupported settings there do no harm. */
static enum err_kind read_document(struct reader *r, const char *wanted, struct kubeconfig *k)
{
    struct named name = {
        {NULL, 0},
        1
    };
    yaml_node_t *context = NULL;
    yaml_node_t *cluster = NULL;
    yaml_node_t *user = NULL;
    enum err_kind kind = choose_context(r, wanted, &name);

    if (kind == ERR_OK)
        kind = find_entry(r, "contexts", "context", &name, &context);
    if (kind == ERR_OK)
        kind = follow(r, context, "clusters", "cluster", &cluster);
    if (kind == ERR_OK)
        kind = follow(r, context, "users", "user", &user);
    if (kind == ERR_OK)
        kind = read_cluster(r, cluster, k);
    if (kind == ERR_OK)
        kind = read_user(r, user, k);
    k->context = mem_strndup(name.name.p, name.name.n);
    return kind;
}

/* Deletes the document. libyaml frees without wiping, and its scalars may be secrets. */
static void delete_document(yaml_document_t *doc)
{
    for (yaml_node_t *node = doc->nodes.start; node < doc->nodes.top; node++)
        if (node->type == YAML_SCALAR_NODE)
            mem_wipe(node->data.scalar.value, node->data.scalar.length);
    yaml_document_delete(doc);
}

/* Counts over the whole file, against the limits at the top. */
struct shape {
    int depth;
    int anchors;
    int values;
    int documents;
};

static bool has_anchor(const yaml_event_t *e)
{
    if (e->type == YAML_SCALAR_EVENT)
        return e->data.scalar.anchor != NULL;
    if (e->type == YAML_SEQUENCE_START_EVENT)
        return e->data.sequence_start.anchor != NULL;
    return e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor != NULL;
}

/* Counts one event of the parser. The nesting and anchors are found before yaml_parser_load()
 * builds anything from them. */
static enum err_kind check_event(struct reader *r, const yaml_event_t *e, struct shape *s)
{
    if (e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT)
        s->depth++;
    if (e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT)
        s->depth--;
    if (e->type == YAML_DOCUMENT_START_EVENT)
        s->documents++;
    if (has_anchor(e))
        s->anchors++;
    s->values++;
    if (s->documents > 1)
        return fail_at(r, e, "a second document begins here: keep one per file");
    if (s->depth > DEPTH_MAX || s->anchors > ANCHORS_MAX || s->values > VALUES_MAX)
        return fail_at(r, e, "too deep, too many anchors or too many values for a kubeconfig");
    return ERR_OK;
}

/* libyaml gives no problem when it had no memory. */
static enum err_kind fail_yaml(struct reader *r, const yaml_parser_t *parser)
{
    return fail_line(r, parser->problem_mark.line + 1, "bad YAML: %s",
                     parser->problem != NULL ? parser->problem : "out of memory");
}

/* Goes through the whole text without keeping anything, before load() builds the document. */
static enum err_kind check_shape(struct reader *r, yaml_parser_t *parser)
{
    struct shape shape = {0};
    enum err_kind kind = ERR_OK;
    bool ended = false;

    while (kind == ERR_OK && !ended) {
        yaml_event_t event;

        if (yaml_parser_parse(parser, &event) == 0)
            return fail_yaml(r, parser);
        kind = check_event(r, &event, &shape);
        ended = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_SCALAR_EVENT)
            mem_wipe(event.data.scalar.value, event.data.scalar.length);
        yaml_event_delete(&event);
    }
    if (kind == ERR_OK && shape.documents == 0)
        kind = fail_line(r, 1, "the file is empty");
    return kind;
}

static enum err_kind load(struct reader *r, yaml_parser_t *parser, const char *wanted,
                          struct kubeconfig *k)
{
    if (yaml_parser_load(parser, &r->doc) == 0)
        return fail_yaml(r, parser);
    enum err_kind kind = read_document(r, wanted, k);
    delete_document(&r->doc);
    return kind;
}

enum err_kind kubeconfig_parse(struct str text, const char *path, const char *context,
                               struct kubeconfig *out, struct err *err)
{
    struct reader r = {.path = path, .err = err};
    enum err_kind kind = ERR_OK;

    *out = (struct kubeconfig){0};
    if (text.n > TEXT_MAX)
        return err_set(err, ERR_CONFIG, 0, "%s: is larger than 1MiB: that is no kubeconfig", path);
    /* A parser cannot be rewound, so each pass has its own: check_shape() first, then load(). */
    for (int pass = 0; pass < 2 && kind == ERR_OK; pass++) {
        yaml_parser_t parser;

        ensure(yaml_parser_initialize(&parser) != 0); /* fails only without memory */
        yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
        kind = pass == 0 ? check_shape(&r, &parser) : load(&r, &parser, context, out);
        yaml_parser_delete(&parser);
    }
    if (kind != ERR_OK)
        kubeconfig_fini(out);
    return kind;
}

static void free_secret(char *s)
{
    if (s != NULL)
        mem_wipe(s, strlen(s));
    free(s);
}

void kubeconfig_fini(struct kubeconfig *k)
{
    free(k->context);
    free(k->server);
    free(k->tls_server_name);
    free(k->ca_file);
    free(k->ca_data);
    free(k->client_cert_file);
    free(k->client_cert_data);
    free(k->client_key_file);
    free_secret(k->client_key_data);
    free_secret(k->token);
    free(k->token_file);
    *k = (struct kubeconfig){0};
}
