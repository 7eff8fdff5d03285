/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies, parted by zero bytes, answer one request after the other; the first byte of each is its
 * HTTP code. A resource that is found has names that can stand in a path; any other outcome has a
 * reason. */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "kube/discovery.h"
#include "kube/status.h"
#include "kube/version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const names[] = {"a",        "widgets", "Widget",         "wd.a.io",
                                    "a.v1.b.c", "a.v1.",   "widgets.zeta.io"};

static int code_of(char c)
{
    static const int codes[] = {200, 200, 200, 200, 401, 403, 404, 503};

    return codes[(unsigned char)c % ARRAY_LEN(codes)];
}

static void answer(struct discovery *d, int code, struct str body)
{
    struct status status;
    struct err err;

    if (code == 200) {
        discovery_answer(d, body);
        return;
    }
    status_parse(&status, code, body);
    status_to_err(&status, &err);
    discovery_refused(d, &err, status.retry_after_s);
}

static void answer_all(struct discovery *d, const char *p, const char *end)
{
    const struct err lost = {ERR_CLOSED, 0, "lost"};
    struct discovery_request r;

    while (discovery_next(d, &r)) {
        size_t n = 0;

        ensure(r.target[0] == '/' && strstr(r.target, "..") == NULL);
        while (p + n < end && p[n] != '\0')
            n++;
        if (n == 0)
            discovery_fail(d, &lost);
        else
            answer(d, code_of(p[0]), str_of(p + 1, n - 1));
        p += n + (p + n < end);
    }
}

static void look_up(const struct discovery *d, const char *name)
{
    struct resource want;
    struct resource found;
    struct err err = {0};

    ensure(resource_parse(name, &want, NULL) == ERR_OK);
    enum err_kind kind = discovery_find(d, &want, &found, &err);
    ensure((kind == ERR_OK) == (err.text[0] == '\0'));
    if (kind == ERR_OK) {
        ensure(resource_has_path(&found));
        ensure(resource_is_dns(str_c(found.plural), "-.", 253));
        ensure(resource_is_dns(str_c(found.version), "-", 63));
        ensure(found.group[0] == '\0' || resource_is_dns(str_c(found.group), "-.", 253));
        resource_fini(&found);
    }
    resource_fini(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct discovery *d = discovery_create();
    struct version version;
    struct resource want;

    discovery_begin(d);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ensure(resource_parse(names[i], &want, NULL) == ERR_OK);
        if (n > 0 && (data[0] >> i) % 2 == 0)
            discovery_want(d, &want);
        resource_fini(&want);
    }
    answer_all(d, (const char *)data, (const char *)data + n);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        look_up(d, names[i]);
    discovery_destroy(&d);
    (void)!version_parse(str_of((const char *)data, n), &version);
    return 0;
}
