/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cache/api_error.h"

const struct page discovery_probe_new[] = {
    ROW("/api", 200,
        "@v2\n"
        "- v1 pods Pod Namespaced po pod\n"),
    ROW("/apis", 200,
        "@v2\n"
        "zeta.io v2 widgets Widget Cluster wd,gadget,wds\n"
        "zeta.io v1 widgets Widget Namespaced\n"
        "zeta.io v1 olds Old Namespaced\n"
        "alpha.io v1beta1 widgets AlphaWidget Namespaced - aw\n"
        "alpha.io v1beta1 gadgets Gadget Namespaced\n"
        "alpha.io v1beta1 wds Wd Namespaced\n"
        "alpha.io.more v1 extras Extra Namespaced\n"),
    ROW(NULL, 0, NULL),
};

const struct page discovery_probe_old[] = {
    ROW("/api", 200,
        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
        "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\"}]}"),
    ROW("/apis", 200,
        "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{\"name\":\"zeta.io\","
        "\"versions\":[{\"groupVersion\":\"zeta.io/v1\",\"version\":\"v1\"},"
        "{\"groupVersion\":\"zeta.io/v2\",\"version\":\"v2\"}],"
        "\"preferredVersion\":{\"groupVersion\":\"zeta.io/v2\",\"version\":\"v2\"}},"
        "{\"preferredVersion\":{\"version\":\"v1beta1\"},"
        "\"versions\":[{\"groupVersion\":\"alpha.io/v1beta1\",\"version\":\"v1beta1\"}],"
        "\"name\":\"alpha.io\"}]}"),
    ROW("/api/v1", 200,
        "@old\n"
        "pods Pod Namespaced po\n"
        "pods/status Wrong Namespaced\n"),
    ROW("/apis/zeta.io/v1", 200,
        "@old\n"
        "widgets Widget Namespaced\n"
        "olds Old Namespaced\n"),
    ROW("/apis/zeta.io/v2", 200,
        "@old\n"
        "widgets Widget Cluster wd\n"),
    ROW("/apis/alpha.io/v1beta1", 200,
        "@old\n"
        "widgets AlphaWidget Namespaced\n"
        "gadgets Gadget Namespaced\n"),
    ROW(NULL, 0, NULL),
};

enum { WORDS = 8, WORD_BYTES = 64 };

/* Bytes before the stop or the end of the line. Not strcspn(): sanitizers measure its whole
 * argument. */
static size_t span(const char *text, char stop)
{
    size_t n = 0;

    while (text[n] != '\0' && text[n] != '\n' && text[n] != stop)
        n++;
    return n;
}

/* The words of a line; those that it lacks are "-". Returns the next line. */
static const char *read_line(const char *line, char words[WORDS][WORD_BYTES], int first)
{
    size_t n = span(line, '\n');
    int i = first;

    for (int k = 0; k < WORDS; k++)
        memcpy(words[k], "-", 2);
    for (size_t at = 0; at < n; i++) {
        size_t word = span(line + at, ' ');

        assert_true(i < WORDS && word < WORD_BYTES);
        memcpy(words[i], line + at, word);
        words[i][word] = '\0';
        at += word + (line[at + word] == ' ');
    }
    return line + n + (line[n] == '\n');
}

static const char *text_of(const char *word)
{
    return strcmp(word, "-") == 0 ? "" : word;
}

/* "a,b" as "a","b" */
static void put_words(struct buf *out, const char *key, const char *words)
{
    buf_printf(out, "\"%s\":[", key);
    for (const char *at = text_of(words); *at != '\0'; at += at[0] == ',') {
        size_t n = strcspn(at, ",");

        buf_printf(out, "%s\"%.*s\"", at == words ? "" : ",", (int)n, at);
        at += n;
    }
    buf_puts(out, "]");
}

static void put_lists(struct buf *out, char words[WORDS][WORD_BYTES])
{
    put_words(out, "shortNames", words[5]);
    buf_putc(out, ',');
    put_words(out, "verbs", words[7][0] != '-' ? words[7] : "create,get,list,watch");
    buf_putc(out, '}');
}

/* As a server does: the core group has no name at all. */
static void put_group(struct buf *out, const char *name)
{
    buf_puts(out, "{\"metadata\":{");
    if (name[0] != '\0')
        buf_printf(out, "\"name\":\"%s\",", name);
    buf_puts(out, "\"creationTimestamp\":null},\"versions\":[");
}

static void put_new(struct buf *out, const char *line)
{
    char words[WORDS][WORD_BYTES];
    char group[WORD_BYTES] = "";
    char version[WORD_BYTES] = "";

    while (*line != '\0') {
        line = read_line(line, words, 0);
        bool other_group = strcmp(group, words[0]) != 0;
        bool other = other_group || strcmp(version, words[1]) != 0;

        if (other && group[0] != '\0')
            buf_puts(out, other_group ? "]}]}," : "]},");
        if (other_group)
            put_group(out, text_of(words[0]));
        if (other)
            buf_printf(out, "{\"version\":\"%s\",\"freshness\":\"%s\",\"resources\":[",
                       text_of(words[1]), strcmp(words[2], "Stale") == 0 ? "Stale" : "Current");
        memcpy(group, words[0], WORD_BYTES);
        memcpy(version, words[1], WORD_BYTES);
        if (strcmp(words[2], "Stale") == 0)
            continue;
        buf_printf(out,
                   "%s{\"resource\":\"%s\",\"responseKind\":{\"group\":\"\",\"kind\":\"%s\"},"
                   "\"scope\":\"%s\",\"singularResource\":\"%s\",\"subresources\":[{"
                   "\"subresource\":\"status\",\"responseKind\":{\"kind\":\"Wrong\"},"
                   "\"verbs\":[\"get\"]}],",
                   other ? "" : ",", text_of(words[2]), words[3], words[4], text_of(words[6]));
        put_lists(out, words);
    }
    buf_puts(out, group[0] != '\0' ? "]}]}" : "");
}

static void put_old(struct buf *out, const char *line)
{
    char words[WORDS][WORD_BYTES];
    bool first = true;

    while (*line != '\0') {
        line = read_line(line, words, 2);
        buf_printf(out,
                   "%s{\"name\":\"%s\",\"kind\":\"%s\",\"namespaced\":%s,\"singularName\":\"%s\",",
                   first ? "" : ",", words[2], words[3],
                   strcmp(words[4], "Namespaced") == 0 ? "true" : "false", text_of(words[6]));
        put_lists(out, words);
        first = false;
    }
}

void discovery_probe_body(const struct page *p, struct buf *out)
{
    size_t n = strcspn(p->body, "\n");
    const char *lines = p->body + n + 1;

    if (p->body[0] != '@') {
        buf_puts(out, p->body);
    } else if (strncmp(p->body, "@old", n) == 0) {
        buf_puts(out, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"x\",\"resources\":[");
        put_old(out, lines);
        buf_puts(out, "]}\n");
    } else {
        buf_printf(
            out,
            "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%.*s\","
            "\"metadata\":{},\"items\":[",
            (int)n - 1, p->body + 1);
        put_new(out, lines);
        buf_puts(out, "]}\n");
    }
}

const struct page *discovery_probe_page(const struct page *pages, const char *target)
{
    while (pages->target != NULL && strcmp(pages->target, target) != 0)
        pages++;
    return pages;
}

void discovery_probe_want(struct discovery *d, const char *text)
{
    struct resource r;

    assert_int_equal(resource_parse(text, &r, NULL), ERR_OK);
    discovery_want(d, &r);
    resource_fini(&r);
}

void discovery_probe_answer(struct discovery *d, int code, int64_t retry_after_s, struct str body)
{
    struct api_error answer = {.code = code, .retry_after_s = retry_after_s};
    struct err err;

    if (code == 200) {
        discovery_answer(d, body);
        return;
    }
    (void)!api_error_body(&answer, body.p, body.n);
    api_error_read(&answer, &err);
    discovery_refused(d, &err, answer.retry_after_s);
    api_error_reset(&answer);
}

void discovery_probe_run(struct discovery *d, const struct page *pages, struct buf *asked)
{
    const struct err lost = {ERR_TIMEOUT, 0, "it took too long"};
    struct discovery_request r;

    while (discovery_next(d, &r)) {
        const struct page *p = discovery_probe_page(pages, r.target);
        struct buf body = {0};

        buf_printf(asked, "%s ", r.target);
        if (p->target == NULL)
            discovery_probe_answer(d, 404, -1, str_c("404 page not found\n"));
        else if (p->body == NULL)
            discovery_fail(d, &lost);
        else {
            discovery_probe_body(p, &body);
            discovery_probe_answer(d, p->code, -1, buf_str(&body));
        }
        buf_free(&body);
    }
}

enum err_kind discovery_probe_find(const struct discovery *d, const char *text, struct buf *out,
                                   struct err *err)
{
    struct resource r;
    struct resource found;

    assert_int_equal(resource_parse(text, &r, NULL), ERR_OK);
    enum err_kind kind = discovery_find(d, &r, &found, err);
    if (kind == ERR_OK) {
        assert_string_equal(found.text, text);
        resource_put_path(out, &found, NULL);
        buf_printf(out, " %s %s", found.kind != NULL ? found.kind : "?",
                   found.scope == RESOURCE_CLUSTER_SCOPED ? "Cluster"
                   : found.scope == RESOURCE_NAMESPACED   ? "Namespaced"
                                                          : "?");
        resource_fini(&found);
    }
    resource_fini(&r);
    return kind;
}

void discovery_probe_found(const struct discovery *d, const char *text, const char *expected)
{
    struct buf out = {0};
    struct err err = {0};

    if (discovery_probe_find(d, text, &out, &err) != ERR_OK)
        fail_msg("%s: %s", text, err.text);
    if (strcmp(buf_cstr(&out), expected) != 0)
        fail_msg("%s: %s instead of %s", text, buf_cstr(&out), expected);
    buf_free(&out);
}

void discovery_probe_missing(const struct discovery *d, const char *text, enum err_kind kind,
                             const char *says)
{
    struct buf out = {0};
    struct err err = {0};

    assert_int_equal(discovery_probe_find(d, text, &out, &err), kind);
    assert_int_equal(err.kind, kind);
    if (strstr(err.text, says) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, says);
    buf_free(&out);
}

struct discovery *discovery_probe_round(const struct page *pages, const char *const *names,
                                        const char *asked)
{
    struct discovery *d = discovery_create();
    struct buf log = {0};

    discovery_begin(d);
    for (; *names != NULL; names++)
        discovery_probe_want(d, *names);
    discovery_probe_run(d, pages, &log);
    if (asked != NULL)
        assert_string_equal(buf_cstr(&log), asked);
    buf_free(&log);
    return d;
}
