/* SPDX-License-Identifier: Apache-2.0 */
/* cache/view_join: changes of Services and slices in any order, and the deltas of the view. */
#include "view_rig.h"

#include "base/log.h"
#include "cache/view_pick.h"

#define HTTP    PORT("http", "8080")
#define SERVICE "\"clusterIP\":\"10.0.0.1\",\"ports\":[{\"name\":\"http\",\"port\":80}]"
#define NAMED   "\"type\":\"ExternalName\",\"externalName\":\"example.com\"," SERVICE
#define ONE     ENDPOINT("10.1.0.1", READY)
#define TWO     ENDPOINT("10.1.0.2", READY)

static struct view_rig rig;

static int set_up(void **state)
{
    (void)state;
    view_rig_init(&rig, NULL);
    return 0;
}

static int set_up_hold(void **state)
{
    const struct view_join_params params = {
        .cluster = "c", .node_name = "n1", .hold_empty_ms = 30000};

    (void)state;
    view_rig_init(&rig, &params);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    view_rig_fini(&rig);
    return 0;
}

static void service(enum delta_type type, const char *key, const char *uid, const char *spec)
{
    view_rig_on_service(&rig, type, view_rig_service(key, uid, "7", spec));
}

static void slice(enum delta_type type, const char *key, const char *rest)
{
    view_rig_on_slice(&rig, type, view_rig_slice(key, "9", rest));
}

/* Addresses in use by the only port of a Service. */
static void uses(const char *key, const char *want)
{
    assert_string_equal(view_rig_get(&rig, key, "ports[0].use[*].address"), want);
}

static void held(const char *want)
{
    assert_string_equal(view_rig_get(&rig, "s/a", "held"), want);
}

static void test_the_bytes(void **state)
{
    static const char want[] =
        "{\"cluster\":\"c\",\"namespace\":\"s\",\"name\":\"a\",\"uid\":\"u\",\"service\":{\"kind\":"
        "\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"s\",\"name\":\"a\","
        "\"uid\":"
        "\"u\",\"resourceVersion\":\"7\",\"generation\":7},\"spec\":{\"ports\":[{\"name\":\"h\","
        "\"port\":80,\"nodePort\":30080,\"appProtocol\":\"http\"},{\"port\":53,\"protocol\":"
        "\"UDP\"}"
        "]}},\"ready\":2,\"local_ready\":1,\"held\":false,\"ports\":[{\"name\":\"h\",\"protocol\":"
        "\"TCP\",\"port\":80,\"node_port\":30080,\"app_protocol\":\"http\",\"use\":[{\"address\":"
        "\"10.1.0.1\",\"family\":\"IPv4\",\"port\":8080,\"node\":\"n1\",\"zone\":\"z\",\"pod\":"
        "\"p\","
        "\"hints\":[\"a\",\"b\"],\"state\":\"ready\"},{\"address\":\"fd00::1\",\"family\":\"IPv6\","
        "\"port\":8080,\"node\":null,\"zone\":null,\"pod\":null,\"hints\":[],\"state\":\"ready\"}]}"
        ","
        "{\"name\":null,\"protocol\":\"UDP\",\"port\":53,\"node_port\":null,\"app_protocol\":null,"
        "\"use\":[]}]}";
    const struct object *o;

    (void)state;
    service(DELTA_ADDED, "s/a", "u",
            "\"ports\":[{\"name\":\"h\",\"port\":80,\"nodePort\":30080,\"appProtocol\":\"http\"},"
            "{\"port\":53,\"protocol\":\"UDP\"}]");
    slice(DELTA_ADDED, "s/x",
          SLICE(OF("a"), "IPv6", ENDPOINT("fd00::1", READY), PORT("h", "8080")));
    slice(
        DELTA_ADDED, "s/y",
        SLICE(OF("a"), "IPv4",
              ENDPOINT("10.1.0.1", READY ON("n1") ",\"zone\":\"z\",\"targetRef\":{\"kind\":\"Pod\","
                                                  "\"namespace\":\"s\",\"name\":\"p\"},\"hints\":{"
                                                  "\"forZones\":[{\"name\":\"b\"},{\"name\":\"a\"}"
                                                  ",{\"name\":\"b\"}]}"),
              PORT("h", "8080")));
    view_rig_says(&rig, "+s/a ");
    assert_string_equal(view_rig_json(&rig, "s/a"), want);
    o = store_get(view_join_store(rig.join), str_c("s/a"));
    assert_true(str_is(object_kind(o), "ServiceEndpoints"));
    assert_true(str_is(object_api_version(o), "informerd/v1"));
    assert_true(str_is(object_rv(o), "7"));
    assert_true(str_is(object_uid(o), "u"));
}

static void test_a_slice_waits_for_its_service(void **state)
{
    (void)state;
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "");
    service(DELTA_ADDED, "t/a", "u", SERVICE);
    view_rig_says(&rig, "+t/a ");
    uses("t/a", "");
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    view_rig_says(&rig, "+s/a ");
    uses("s/a", "10.1.0.1");
    service(DELTA_DELETED, "s/a", "u", SERVICE);
    view_rig_says(&rig, "-s/a ");
    service(DELTA_ADDED, "s/a", "u2", SERVICE);
    view_rig_says(&rig, "+s/a ");
    uses("s/a", "10.1.0.1");
}

static void test_a_slice_moves_with_its_label(void **state)
{
    (void)state;
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    service(DELTA_ADDED, "s/b", "v", SERVICE);
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "+s/a +s/b ");
    slice(DELTA_MODIFIED, "s/x", SLICE(OF("b"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ~s/b ");
    uses("s/a", "");
    uses("s/b", "10.1.0.1");
    slice(DELTA_MODIFIED, "s/x", SLICE(NO_LABEL, "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/b ");
    uses("s/b", "");
    slice(DELTA_MODIFIED, "s/x", SLICE(OF("c"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "");
    slice(DELTA_MODIFIED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ");
    slice(DELTA_LEFT, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ");
    uses("s/a", "");
}

static void test_only_real_changes_have_a_delta(void **state)
{
    (void)state;
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE "," TWO, HTTP));
    view_rig_says(&rig, "+s/a ");
    /* the same set out of two slices, in another order, beside endpoints that are not used */
    slice(DELTA_MODIFIED, "s/x", SLICE(OF("a"), "IPv4", TWO, HTTP));
    slice(DELTA_ADDED, "s/y",
          SLICE(OF("a"), "IPv4", TWO "," ENDPOINT("10.1.0.3", NOT_READY) "," ONE, HTTP));
    view_rig_says(&rig, "");
    /* an endpoint goes and comes back before the view looks again */
    slice(DELTA_DELETED, "s/y", SLICE(OF("a"), "IPv4", ONE, HTTP));
    slice(DELTA_ADDED, "s/z", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "");
    /* only the versions of the Service changed: no delta, but the object shows them */
    view_rig_on_service(&rig, DELTA_MODIFIED, view_rig_service("s/a", "u", "8", SERVICE));
    view_rig_says(&rig, "");
    assert_string_equal(view_rig_get(&rig, "s/a", "service.metadata.resourceVersion"), "8");
    assert_string_equal(view_rig_get(&rig, "s/a", "service.metadata.generation"), "8");
    service(DELTA_MODIFIED, "s/a", "u", SERVICE ",\"x\":1");
    view_rig_says(&rig, "~s/a ");
}

static void test_another_incarnation(void **state)
{
    (void)state;
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    view_rig_says(&rig, "+s/a ");
    service(DELTA_DELETED, "s/a", "u", SERVICE);
    service(DELTA_ADDED, "s/a", "v", SERVICE);
    view_rig_says(&rig, "-s/a? +s/a ");
    service(DELTA_LEFT, "s/a", "v", SERVICE);
    view_rig_says(&rig, "xs/a ");
    service(DELTA_ADDED, "s/a", "w", SERVICE);
    service(DELTA_DELETED, "s/a", "w", SERVICE);
    view_rig_says(&rig, "");
}

/* The cause of the end of a Service counts, not the changes of its slices since. */
static void test_left_stays_left(void **state)
{
    (void)state;
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "+s/a ");
    service(DELTA_LEFT, "s/a", "u", SERVICE);
    slice(DELTA_DELETED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "xs/a ");
}

/* Whether the final state is known depends on the Service, and counts for ends alone. */
static void test_an_end_without_its_last_state(void **state)
{
    struct delta gone = {.cause = CAUSE_RELIST, .final_state_unknown = true, .received_ns = 5};

    (void)state;
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    service(DELTA_ADDED, "s/b", "v", SERVICE);
    slice(DELTA_ADDED, "s/x", SLICE(OF("b"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "+s/a +s/b ");
    gone.type = DELTA_DELETED;
    gone.object = view_rig_service("s/a", "u", "7", SERVICE);
    view_join_service(rig.join, &gone);
    object_unref(&gone.object);
    view_rig_says(&rig, "-s/a? ");
    assert_int_equal(rig.last.cause, CAUSE_RELIST);
    assert_int_equal(rig.last.received_ns, 5);
    service(DELTA_MODIFIED, "s/b", "v", NAMED);
    gone.object = view_rig_slice("s/x", "9", SLICE(OF("b"), "IPv4", ONE, HTTP));
    view_join_backends(rig.join, &gone);
    object_unref(&gone.object);
    view_rig_says(&rig, "xs/b ");
}

static void test_external_names_are_left_out(void **state)
{
    (void)state;
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    service(DELTA_ADDED, "s/a", "u", NAMED);
    view_rig_says(&rig, "");
    service(DELTA_MODIFIED, "s/a", "u", SERVICE);
    view_rig_says(&rig, "+s/a ");
    service(DELTA_MODIFIED, "s/a", "u", NAMED);
    view_rig_says(&rig, "xs/a ");
}

static void test_shapes_that_nobody_expects(void **state)
{
    (void)state;
    service(DELTA_ADDED, "s/a", "u", "\"type\":7,\"ports\":{\"x\":{\"port\":\"80\"},\"y\":[]}");
    slice(DELTA_ADDED, "s/x",
          ",\"labels\":{\"kubernetes.io/service-name\":\"a\"}},\"ports\":7,"
          "\"addressType\":\"IPv4\",\"endpoints\":[[],7,null,{\"addresses\":{}},"
          "{\"addresses\":[7]},{\"addresses\":[\"10.1.0.1\"],\"conditions\":[],"
          "\"nodeName\":{},\"targetRef\":[],\"hints\":{\"forZones\":[7,{}]}}]}");
    slice(DELTA_ADDED, "s/y", ",\"labels\":[]}}");
    view_rig_says(&rig, "+s/a ");
    assert_string_equal(view_rig_get(&rig, "s/a", "ready"), "0");
}

/* Appends a subset with one address so many times, and with so many numbers of one port name. */
static void put_subset(struct buf *out, unsigned addresses, const char *port, unsigned numbers)
{
    buf_puts(out, out->len > 0 ? ",{\"addresses\":[" : "{\"addresses\":[");
    for (unsigned i = 0; i < addresses; i++)
        buf_printf(out, "%s{\"ip\":\"10.1.0.1\"}", i > 0 ? "," : "");
    buf_puts(out, "],\"ports\":[");
    for (unsigned i = 0; i < numbers; i++)
        buf_printf(out, "%s{\"name\":\"%s\",\"port\":%u}", i > 0 ? "," : "", port, i + 1);
    buf_puts(out, "]}");
}

static void set_subsets(struct buf *subsets)
{
    view_rig_on_slice(&rig, DELTA_MODIFIED, view_rig_endpoints("s/a", buf_cstr(subsets)));
    buf_clear(subsets);
}

/* Hundreds of ports of one name times hundreds of addresses: no cluster has that, but it can be
 * written. */
static void test_more_than_a_cluster_can_have(void **state)
{
    const struct view_join_params params = {
        .cluster = "c", .node_name = "n1", .from = VIEW_JOIN_ENDPOINTS};
    struct buf subsets = {0};

    (void)state;
    view_rig_fini(&rig);
    view_rig_init(&rig, &params);
    service(DELTA_ADDED, "s/a", "u",
            "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"b\",\"port\":81}]");
    put_subset(&subsets, 1, "http", 1);
    set_subsets(&subsets);
    view_rig_says(&rig, "+s/a ");
    put_subset(&subsets, VIEW_PICK_MAX / 400, "http", 400);
    put_subset(&subsets, 1, "http", 1);
    set_subsets(&subsets);
    view_rig_says(&rig, ""); /* one endpoint more than VIEW_PICK_MAX */
    uses("s/a", "10.1.0.1");
    put_subset(&subsets, VIEW_PICK_MAX / 400, "http", 400);
    set_subsets(&subsets);
    view_rig_says(&rig, "~s/a ");
    put_subset(&subsets, 1, "http", 1);
    set_subsets(&subsets);
    view_rig_says(&rig, "~s/a ");
    /* all ports together: each address in use once */
    put_subset(&subsets, 1, "http", 1);
    put_subset(&subsets, VIEW_PICK_MAX / 400, "b", 400);
    set_subsets(&subsets);
    view_rig_says(&rig, "");
    uses("s/a", "10.1.0.1");
    put_subset(&subsets, 0, "http", 0);
    set_subsets(&subsets);
    view_rig_says(&rig, "~s/a ");
    uses("s/a", "");
    buf_free(&subsets);
}

/* An API server accepts 8 hints at most; the view keeps 64. */
static void test_more_hints_than_anybody_has(void **state)
{
    struct buf rest = {0};
    size_t n = 1;

    (void)state;
    buf_puts(&rest, OF("a") "},\"addressType\":\"IPv4\",\"ports\":[" HTTP "],\"endpoints\":[{"
                            "\"addresses\":[\"10.1.0.1\"],\"hints\":{\"forZones\":[");
    for (unsigned i = 0; i < 70; i++)
        buf_printf(&rest, "%s{\"name\":\"z%u\"}", i > 0 ? "," : "", i);
    buf_puts(&rest, "]}}]}");
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    slice(DELTA_ADDED, "s/x", buf_cstr(&rest));
    view_rig_says(&rig, "+s/a ");
    for (const char *at = view_rig_get(&rig, "s/a", "ports[0].use[0].hints[*]"); *at != '\0'; at++)
        n += *at == ' ';
    assert_int_equal(n, 64);
    buf_free(&rest);
}

#define HINTED(zones) "{\"addresses\":[\"10.1.0.1\"],\"hints\":{\"forZones\":[" zones "]}}"

/* Which of the hints count does not depend on the order of their slices. */
static void test_one_address_with_several_hints(void **state)
{
    static const char *const slices[] = {
        SLICE(OF("a"), "IPv4", HINTED("{\"name\":\"z1\"},{\"name\":\"z2\"}"), HTTP),
        SLICE(OF("a"), "IPv4", HINTED("{\"name\":\"z1\"}"), HTTP),
        SLICE(OF("a"), "IPv4", HINTED("{\"name\":\"z2\"}"), HTTP),
    };

    (void)state;
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    for (size_t i = 0; i < 6; i++) {
        slice(DELTA_ADDED, "s/x", slices[i % 3]);
        slice(DELTA_ADDED, "s/y", slices[(i + 1 + i / 3) % 3]);
        slice(DELTA_ADDED, "s/z", slices[(i + 2 - i / 3) % 3]);
        view_rig_says(&rig, i == 0 ? "+s/a " : "~s/a ");
        assert_string_equal(view_rig_get(&rig, "s/a", "ports[0].use[*].hints[*]"), "z1");
        slice(DELTA_DELETED, "s/x", slices[0]);
        slice(DELTA_DELETED, "s/y", slices[0]);
        slice(DELTA_DELETED, "s/z", slices[0]);
        view_rig_says(&rig, "~s/a ");
    }
}

static void up(const char *endpoints)
{
    slice(DELTA_MODIFIED, "s/x", SLICE(OF("a"), "IPv4", "", HTTP));
    slice(DELTA_MODIFIED, "s/x", endpoints);
}

static void test_hold_empty(void **state)
{
    (void)state;
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", "", HTTP));
    view_rig_says(&rig, "+s/a "); /* the Service never had any address */
    held("false");
    up(SLICE(OF("a"), "IPv4", ONE "," TWO, HTTP));
    view_rig_says(&rig, "~s/a ");
    assert_int_equal(view_join_due_ms(rig.join), UINT64_MAX);
    up(SLICE(OF("a"), "IPv4", ENDPOINT("10.1.0.1", DRAINING), HTTP));
    view_rig_says(&rig, "~s/a "); /* a draining endpoint is used: there is nothing to hold */
    held("false");
    slice(DELTA_MODIFIED, "s/x", SLICE(OF("a"), "IPv4", "", HTTP));
    view_rig_says(&rig, "~s/a ");
    held("true");
    uses("s/a", "10.1.0.1");
    assert_int_equal(rig.last.received_ns, 0);
    assert_string_equal(view_rig_get(&rig, "s/a", "ready"), "0");
    assert_int_equal(view_join_due_ms(rig.join), rig.now_ms + 30000);
    rig.now_ms += 29999;
    slice(DELTA_MODIFIED, "s/x", SLICE(OF("a"), "IPv4", ENDPOINT("10.1.0.3", NOT_READY), HTTP));
    view_rig_says(&rig, "");
    rig.now_ms += 1;
    view_rig_says(&rig, "~s/a ");
    assert_int_equal(rig.last.cause, CAUSE_WATCH);
    /* the time of the flush: no event of a watch was the cause */
    assert_int_equal(rig.last.received_ns, 7);
    held("false");
    uses("s/a", "");
    assert_int_equal(view_join_due_ms(rig.join), UINT64_MAX);
}

/* The Service s/a with uid u had one address, which has just gone. */
static void lose_the_only_address(void)
{
    service(DELTA_ADDED, "s/a", "u", SERVICE);
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "+s/a ");
    slice(DELTA_DELETED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ");
}

static void test_a_hold_ends_when_something_comes(void **state)
{
    (void)state;
    lose_the_only_address();
    rig.now_ms += 10000;
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", TWO, HTTP));
    view_rig_says(&rig, "~s/a ");
    held("false");
    uses("s/a", "10.1.0.2");
    assert_int_equal(view_join_due_ms(rig.join), UINT64_MAX);
    slice(DELTA_DELETED, "s/x", SLICE(OF("a"), "IPv4", TWO, HTTP));
    view_rig_says(&rig, "~s/a ");
    assert_int_equal(view_join_due_ms(rig.join), rig.now_ms + 30000);
}

static void test_nothing_is_held_for_another_incarnation(void **state)
{
    (void)state;
    lose_the_only_address();
    held("true");
    service(DELTA_MODIFIED, "s/a", "v", SERVICE);
    view_rig_says(&rig, "-s/a? +s/a ");
    held("false");
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ");
    slice(DELTA_DELETED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ");
    service(DELTA_DELETED, "s/a", "v", SERVICE);
    view_rig_says(&rig, "-s/a ");
    assert_int_equal(view_join_due_ms(rig.join), UINT64_MAX);
}

static void test_each_port_is_held_alone(void **state)
{
    (void)state;
    service(DELTA_ADDED, "s/a", "u",
            "\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"b\",\"port\":81}]");
    slice(DELTA_ADDED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    slice(DELTA_ADDED, "s/y", SLICE(OF("a"), "IPv4", TWO, PORT("b", "81")));
    view_rig_says(&rig, "+s/a ");
    slice(DELTA_DELETED, "s/x", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ");
    held("true");
    assert_string_equal(view_rig_get(&rig, "s/a", "ready"), "1");
    uses("s/a", "10.1.0.1");
    rig.now_ms += 100;
    slice(DELTA_DELETED, "s/y", SLICE(OF("a"), "IPv4", ONE, HTTP));
    view_rig_says(&rig, "~s/a ");
    assert_int_equal(view_join_due_ms(rig.join), rig.now_ms + 29900);
    rig.now_ms += 29900;
    view_rig_says(&rig, "~s/a ");
    uses("s/a", "");
    assert_string_equal(view_rig_get(&rig, "s/a", "ports[1].use[*].address"), "10.1.0.2");
    held("true");
    /* a port that the Service has no more is forgotten */
    service(DELTA_MODIFIED, "s/a", "u", SERVICE);
    view_rig_says(&rig, "~s/a ");
    assert_int_equal(view_join_due_ms(rig.join), UINT64_MAX);
    held("false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_bytes, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_slice_waits_for_its_service, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_slice_moves_with_its_label, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_only_real_changes_have_a_delta, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_another_incarnation, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_left_stays_left, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_an_end_without_its_last_state, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_external_names_are_left_out, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_shapes_that_nobody_expects, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_more_than_a_cluster_can_have, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_more_hints_than_anybody_has, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_one_address_with_several_hints, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_hold_empty, set_up_hold, clean_up),
        cmocka_unit_test_setup_teardown(test_a_hold_ends_when_something_comes, set_up_hold,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_nothing_is_held_for_another_incarnation, set_up_hold,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_each_port_is_held_alone, set_up_hold, clean_up),
    };

    log_set_level(LOG_LVL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
