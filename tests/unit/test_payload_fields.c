/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "hook/payload.h"

/* The parts of a run's input beside the object: fields, changed, old_object, all events of a
 * batch. */

static const struct payload_context context = {.node = "n1", .instance = "i"};
static struct buf out;

static int clean_up(void **state)
{
    buf_free(&out);
    return hook_rig_clean_up(state);
}

static void add_field(struct hook *h, const char *name, const char *path)
{
    struct hook_rules *r = &h->rules;

    r->fields = mem_realloc(r->fields, (r->field_count + 1) * sizeof(*r->fields));
    struct hook_field *f = &r->fields[r->field_count++];
    f->name = mem_strdup(name);
    assert_int_equal(json_path_parse(path, &f->path, NULL), ERR_OK);
}

static enum err_kind put_env(const struct run *run, struct err *err)
{
    buf_clear(&out);
    return payload_put_env(&out, &context, run, err);
}

/* The value of a variable of the run, NULL = it has none. */
static const char *value(const struct run *run, const char *name)
{
    size_t n = strlen(name);

    assert_int_equal(put_env(run, NULL), ERR_OK);
    for (const char *at = out.data; at < out.data + out.len; at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return NULL;
}

static const char *json(const struct run *run)
{
    buf_clear(&out);
    payload_put_json(&out, &context, run, hook_rig.now, NULL);
    return buf_cstr(&out);
}

static void shows(const struct run *run, const char *part)
{
    if (strstr(json(run), part) == NULL)
        fail_msg("no %s in %s", part, buf_cstr(&out));
}

static struct hook *add(enum hook_mode mode)
{
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = mode, .include_old = true}
    });

    hook_rig_sync(0);
    hook_rig_nothing();
    return h;
}

static void test_fields_are_variables_of_their_values(void **state)
{
    static const struct {
        const char *name;
        const char *path;
        const char *value;
    } cases[] = {
        {"TEXT",   "data.text",      "a \"b\"\n\xc3\xa9"},
        {"NUMBER", "data.number",    "1.50"             },
        {"FLAG",   "data.flag",      "true"             },
        {"NULL",   "data.null",      ""                 },
        {"NONE",   "data.none",      ""                 },
        {"OBJECT", "data.object",    "{\"a\": [1]}"     },
        {"ALL",    "data.list[*].p", "1 2"              },
        {"NAME",   "metadata.name",  "a"                },
    };

    (void)state;
    struct hook *h = add(HOOK_OBJECT);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        add_field(h, cases[i].name, cases[i].path);
    hook_rig_change(
        0, DELTA_ADDED, "ns/a", "u1",
        "\"text\":\"a \\\"b\\\"\\n\\u00e9\",\"number\":1.50,\"flag\":true,\"null\":null,"
        "\"object\":{\"a\": [1]},\"list\":[{\"p\":1},{\"p\":2}]");
    struct run *run = hook_rig_next();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[64];

        snprintf(name, sizeof(name), "INFORMERD_FIELD_%s", cases[i].name);
        const char *is = value(run, name);
        assert_non_null(is);
        assert_string_equal(is, cases[i].value);
    }
    assert_string_equal(value(run, "INFORMERD_EVENT"), "ADDED");
    hook_rig_end(run, 0);
    hook_rig_stale(0, true);
    run = hook_rig_next();
    assert_string_equal(value(run, "INFORMERD_FIELD_TEXT"), ""); /* an outage has no object */
    hook_rig_end(run, 0);
}

static void test_a_value_with_a_nul_is_no_variable(void **state)
{
    struct err err = {0};

    (void)state;
    struct hook *h = add(HOOK_OBJECT);
    add_field(h, "X", "data.x");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"x\":\"a\\u0000b\"");
    struct run *run = hook_rig_next();
    assert_int_equal(put_env(run, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "fields"));
    hook_rig_end(run, 0);
}

static void test_an_environment_that_is_too_large_is_refused(void **state)
{
    struct buf data = {0};
    struct err err = {0};

    (void)state;
    struct hook *h = add(HOOK_OBJECT);
    add_field(h, "X", "data.x");
    for (size_t n = WIRE_ENV_MAX - 1024; n <= WIRE_ENV_MAX; n += 1024) {
        buf_clear(&data);
        buf_puts(&data, "\"x\":\"");
        for (size_t i = 0; i < n; i++)
            buf_putc(&data, 'x');
        buf_putc(&data, '"');
        hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", buf_cstr(&data));
        struct run *run = hook_rig_next();
        assert_int_equal(put_env(run, &err), n < WIRE_ENV_MAX ? ERR_OK : ERR_TOO_BIG);
        hook_rig_end(run, 0);
    }
    assert_non_null(strstr(err.text, "stdin"));
    buf_free(&data);
}

static void test_a_modified_event_says_what_changed_and_from_what(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH};

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        add(modes[i]);
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1,\"b\":1");
        struct run *run = hook_rig_next();
        shows(run, "\"changed\":[],\"object\":{");
        shows(run, "\"old_object\":null}");
        hook_rig_end(run, 0);
        hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2,\"b\":2");
        run = hook_rig_next();
        shows(run, "\"changed\":[\"data.a\",\"data.b\"],\"object\":{");
        shows(run, "\"data\":{\"a\":2,\"b\":2}},\"old_object\":{");
        shows(run, "\"data\":{\"a\":1,\"b\":1}}}");
        hook_rig_end(run, 0);
        hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":2,\"b\":2");
        run = hook_rig_next();
        shows(run, "\"changed\":[],\"object\":{");
        shows(run, "\"old_object\":null}");
        hook_rig_end(run, 0);
        clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_a_batch_has_all_events_with_their_objects(void **state)
{
    (void)state;
    add(HOOK_BATCH);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_stale(0, true);
    struct run *run = hook_rig_next();
    shows(run, "\"reason\":\"change\",\"sources\":{\"one\":{");
    shows(run, "\"events\":[{\"type\":\"DELETED\",");
    shows(run, "},{\"type\":\"ADDED\",");
    shows(run, "},{\"type\":\"STALE\",");
    shows(run, "\"object\":null,\"old_object\":null}]}\n");
    assert_null(strstr(buf_cstr(&out), "\"snapshot\""));
    assert_null(value(run, "INFORMERD_EVENT"));
    hook_rig_end(run, 0);
}

static void test_changes_of_a_snapshot_have_no_objects(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = HOOK_SNAPSHOT, .include_old = true}
    });
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = hook_rig_next();
    shows(run, "\"changed\":[\"data.a\"]}],\"snapshot\":{\"one\":[{");
    hook_rig_end(run, 0);
}

/* The cache may be ahead: a delete that is to be confirmed has left the cache, and is no change
 * yet. Here the cache is empty all the time. */
static void test_a_snapshot_agrees_with_the_changes(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT}});
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":2");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_stale(0, true);
    struct run *run = hook_rig_next();
    shows(run, "\"data\":{\"a\":1}},{");
    shows(run, "\"data\":{\"a\":2}}]}}\n");
    hook_rig_end(run, 0);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    run = hook_rig_next();
    shows(run, "\"snapshot\":{\"one\":[{");
    assert_null(strstr(buf_cstr(&out), "\"data\":{\"a\":1}"));
    hook_rig_end(run, 0);
}

/* A source that is not synced is absent, never []. */
static void test_a_snapshot_leaves_out_sources_that_are_not_synced(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .sources = 2, .rules = {.mode = HOOK_SNAPSHOT, .require = HOOK_REQUIRE_ANY}
    });
    hook_rig_sync(1);
    struct run *run = hook_rig_next();
    shows(run, "\"one\":{\"cluster\":\"c\",\"synced\":false,");
    shows(run, "\"changes\":[],\"snapshot\":{\"two\":[]}}\n");
    hook_rig_end(run, 0);
    hook_rig_sync(0);
    run = hook_rig_next();
    shows(run, "\"changes\":[],\"snapshot\":{\"one\":[],\"two\":[]}}\n");
    hook_rig_end(run, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_fields_are_variables_of_their_values),
        TEST(test_a_value_with_a_nul_is_no_variable),
        TEST(test_an_environment_that_is_too_large_is_refused),
        TEST(test_a_modified_event_says_what_changed_and_from_what),
        TEST(test_a_batch_has_all_events_with_their_objects),
        TEST(test_changes_of_a_snapshot_have_no_objects),
        TEST(test_a_snapshot_agrees_with_the_changes),
        TEST(test_a_snapshot_leaves_out_sources_that_are_not_synced),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
