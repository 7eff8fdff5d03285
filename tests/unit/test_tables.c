/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of the helper as bytes, and back. */
#include "helper/tables.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { NOFILE = 300 };

static struct buf encode(const struct helper_params *p)
{
    struct buf out = {0};

    tables_encode(p, &out);
    return out;
}

/* Everything has a value, and no two fields beside each other have the same. */
static struct buf encode_all(void)
{
    static const struct helper_output output = {
        .path = "/run/${name}", .mode = 0640, .set_owner = true, .uid = 8, .gid = UINT32_MAX};
    static const gid_t groups[] = {5, 6};
    const struct helper_hook hooks[] = {
        {.kind = HELPER_PLUGIN,
         .name = "all",
         .argv = TEXTS("/bin/sh", "", "x\ny"),
         .check = TEXTS("check"),
         .apply = TEXTS("apply", "now"),
         .output = &output,
         .contents = (const struct helper_content[]){{"/f", true, false}, {0}},
         .alone = TEXTS("/a", "/b"),
         .env = TEXTS("A=1"),
         .groups = groups,
         .group_count = 2,
         .rlimits = (const struct helper_rlimit[]){{7, 8, RLIM_INFINITY}},
         .rlimit_count = 1,
         .capabilities = UINT64_C(1) << 40,
         .concurrency = 3,
         .kill_grace_ms = UINT64_MAX,
         .kill_signal = SIGHUP,
         .kills_left = true,
         .limits = {UINT64_MAX, 2, 3, 4},
         .umask = 027,
         .uid = UINT32_MAX,
         .gid = 9,
         .main_is_alike = true,
         .no_new_privileges = true},
        {.argv = TEXTS("plain"),              .env = (const char *const[]){NULL}, .change_user = true },
    };
    const struct helper_file files[] = {
        {.path = "/token", .path_trust = {.owners = {1, 2}, .named_by = 3}}
    };

    return encode(&(struct helper_params){
        .hooks = hooks, .hook_count = 2, .files = files, .file_count = 1, .shared_runs = 7});
}

/* A copy of exactly n bytes, which is gone before the parameters are looked at. */
static enum err_kind decode(const char *bytes, size_t n, struct helper_params **p)
{
    char *copy = mem_dup(bytes, n);
    struct err err = {0};
    enum err_kind kind = tables_decode(str_of(copy, n), NOFILE, p, &err);

    mem_wipe(copy, n);
    free(copy);
    assert_true(kind == ERR_OK || (kind == ERR_PROTOCOL && *p == NULL && err.text[0] != '\0'));
    return kind;
}

static void test_everything_comes_back(void **state)
{
    struct buf bytes = encode_all();
    struct helper_params *p;

    (void)state;
    assert_int_equal(decode(bytes.data, bytes.len, &p), ERR_OK);
    struct buf again = encode(p);
    assert_int_equal(again.len, bytes.len);
    assert_memory_equal(again.data, bytes.data, bytes.len);
    assert_true(p->hook_count == 2 && p->file_count == 1 && p->shared_runs == 7);
    assert_int_equal(p->nofile_soft, NOFILE);
    const struct helper_hook *h = &p->hooks[0];
    assert_int_equal(h->kind, HELPER_PLUGIN);
    assert_string_equal(h->argv[2], "x\ny");
    assert_null(h->argv[3]);
    assert_string_equal(h->contents[0].path, "/f");
    assert_true(h->contents[0].counts && !h->contents[0].counted);
    assert_null(h->contents[1].path);
    assert_true(h->output->uid == 8 && h->output->gid == UINT32_MAX && h->output->mode == 0640);
    assert_true(h->groups[1] == 6 && h->kill_grace_ms == UINT64_MAX && h->kill_signal == SIGHUP);
    assert_true(h->kills_left && h->limits.memory_max == UINT64_MAX && h->limits.pids_max == 2 &&
                h->limits.cpu_max == 3 && h->limits.cpu_weight == 4);
    assert_true(h->umask == 027 && h->uid == UINT32_MAX && h->gid == 9 && h->concurrency == 3);
    assert_true(h->main_is_alike && !h->change_user && h->no_new_privileges);
    assert_true(h->rlimit_count == 1 && h->rlimits[0].resource == 7 && h->rlimits[0].soft == 8);
    assert_true(h->rlimits[0].hard == RLIM_INFINITY && h->capabilities == UINT64_C(1) << 40);
    h = &p->hooks[1];
    assert_true(h->name == NULL && h->check == NULL && h->output == NULL && h->alone == NULL);
    assert_true(h->env[0] == NULL && h->change_user && !h->main_is_alike);
    assert_true(h->rlimit_count == 0 && h->capabilities == 0 && !h->no_new_privileges);
    assert_int_equal(p->files[0].path_trust.named_by, 3);
    tables_free(&p);
    assert_null(p);
    tables_free(&p);
    buf_free(&again);
    buf_free(&bytes);
}

static void test_every_truncation_is_refused(void **state)
{
    struct buf bytes = encode_all();
    struct helper_params *p;

    (void)state;
    for (size_t n = 0; n < bytes.len; n++)
        assert_int_equal(decode(bytes.data, n, &p), ERR_PROTOCOL);
    buf_putc(&bytes, '\0');
    assert_int_equal(decode(bytes.data, bytes.len, &p), ERR_PROTOCOL);
    buf_free(&bytes);
}

/* Every accepted value can be written again. */
static void test_bytes_that_are_changed(void **state)
{
    struct rng rng;

    (void)state;
    rng_seed(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        struct buf bytes = encode_all();
        struct helper_params *p;
        size_t at = rng_between(&rng, 0, bytes.len - 1);

        bytes.data[at] = (char)(i % 2 == 0 ? rng_next(&rng) : 0xff);
        if (decode(bytes.data, bytes.len, &p) == ERR_OK) {
            struct buf again = encode(p);

            assert_int_equal(again.len, bytes.len);
            assert_memory_equal(again.data, bytes.data, bytes.len);
            buf_free(&again);
            tables_free(&p);
        }
        buf_free(&bytes);
    }
}

/* The helper looks at these without asking. */
static void test_a_program_without_a_name_is_refused(void **state)
{
    const char *const *none = (const char *const[]){NULL};
    const struct helper_hook good = {.argv = TEXTS("x"), .env = none};
    struct helper_hook bad[] = {good, good, good, good, good};
    struct helper_params *p;

    (void)state;
    bad[1].argv = none;
    bad[2].env = NULL;
    bad[3].check = none;
    bad[4].kind = HELPER_TEXTFILE + 1;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf bytes = encode(&(struct helper_params){.hooks = &bad[i], .hook_count = 1});

        assert_int_equal(decode(bytes.data, bytes.len, &p), i == 0 ? ERR_OK : ERR_PROTOCOL);
        tables_free(&p);
        buf_free(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_comes_back),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_bytes_that_are_changed),
        cmocka_unit_test(test_a_program_without_a_name_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
