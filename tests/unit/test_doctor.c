/* SPDX-License-Identifier: Apache-2.0 */
/* informerctl doctor: its answer, and the rule that finds a hook which triggers itself. */
#include "admin/doctor.h"

#include "admin_world.h"
#include "hook/history.h"

static char source[] = "w";
static char keys[][4] = {"n/a", "n/b"};

enum { GAP_MS = 2000, TOOK_MS = 50 };
#define MS UINT64_C(1000000)

/* So many runs for this one of keys, each `pause` after the one before; returns the end of the last one. */
static uint64_t fill(struct history *h, size_t n, size_t key, uint64_t pause_ms)
{
    uint64_t end_ns = WORLD_STARTED_NS;

    for (size_t i = 0; i < n; i++) {
        end_ns += (pause_ms + TOOK_MS) * MS;
        h->v[i] = (struct history_run){.source = source,
                                       .key = keys[key],
                                       .event_count = 1,
                                       .reason = RUN_CHANGE,
                                       .ended_ns = end_ns,
                                       .took_ms = TOOK_MS};
    }
    h->next = h->n = n;
    return end_ns;
}

static void test_ten_runs_for_one_key_in_a_row_are_a_loop(void **state)
{
    struct history h = {0};
    uint64_t now = fill(&h, DOCTOR_LOOP_RUNS, 0, GAP_MS);

    (void)state;
    assert_ptr_equal(doctor_find_loop(&h, now, GAP_MS), history_get(&h, 0));
    assert_ptr_equal(doctor_find_loop(&h, now + GAP_MS * MS, GAP_MS), history_get(&h, 0));
    assert_null(doctor_find_loop(&h, now + GAP_MS * MS + 1, GAP_MS));
}

static void test_fewer_slower_or_other_runs_are_no_loop(void **state)
{
    struct history h = {0};
    uint64_t now = fill(&h, DOCTOR_LOOP_RUNS - 1, 0, 0);

    (void)state;
    assert_null(doctor_find_loop(&h, now, GAP_MS));
    now = fill(&h, DOCTOR_LOOP_RUNS, 0, GAP_MS + 1);
    assert_null(doctor_find_loop(&h, now, GAP_MS));
    now = fill(&h, DOCTOR_LOOP_RUNS, 0, 0);
    h.v[4].key = keys[1];
    assert_null(doctor_find_loop(&h, now, GAP_MS));
    now = fill(&h, DOCTOR_LOOP_RUNS, 0, 0);
    h.v[4].reason = RUN_RETRY;
    assert_null(doctor_find_loop(&h, now, GAP_MS));
    now = fill(&h, DOCTOR_LOOP_RUNS, 0, 0);
    h.v[4].event_count = 2;
    assert_null(doctor_find_loop(&h, now, GAP_MS));
}

static void tell_one(void *arg, finding_cb *cb, void *cb_arg)
{
    const struct finding f = {FINDING_PENDING, "hook", "h", "hook h: waits"};

    (void)arg;
    cb(cb_arg, &f);
}

static void test_a_finding_says_where_what_and_what_to_type(void **state)
{
    struct admin_world *t = *state;

    t->model.inspect = tell_one;
    admin_world_expect(t, "GET /v1/doctor", 200,
                       "{\"id\":\"pending\",\"where\":\"hook h\",\"text\":\"waits\","
                       "\"advice\":\"informerctl why h\"}");
}

static void test_a_line_has_its_advice_once(void **state)
{
    struct admin_world *t = *state;
    struct buf list = {0};

    admin_world_put_list(&list, "42", 20);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_clear(&list);
    admin_world_put_list(&list, "43", 1);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
    admin_world_expect(t, "GET /v1/doctor", 200,
                       "objects is held\",\"advice\":\"informerctl guard accept services or ");
    admin_world_expect(t, "GET /v1/status", 200,
                       "objects is held: informerctl guard accept services or ");
}

static void tell_each_fault(void *arg, finding_cb *cb, void *cb_arg)
{
    (void)arg;
    for (enum finding_id id = 0; id < FINDINGS; id++)
        cb(cb_arg, &(struct finding){id, "hook", "h", "hook h: waits"});
}

/* Nothing of an advice has to be replaced or left out by the person who types it. */
static void test_commands_can_be_typed_as_they_are(void **state)
{
    static const char *const never[] = {"NAME", "WATCH", "STATE_DIR", "|", "`", ", informer"};
    struct admin_world *t = *state;

    t->model.inspect = tell_each_fault;
    for (size_t i = 0; i < ARRAY_LEN(never); i++)
        admin_world_lacks(t, "GET /v1/doctor", never[i]);
    admin_world_expect(t, "GET /v1/doctor", 200,
                       "\"advice\":\"informerctl relist h; informerd --check-access\"}");
}

static void test_a_clock_that_is_more_than_a_minute_off(void **state)
{
    struct admin_world *t = *state;
    struct server_health *h = &t->servers[0].v[0];

    h->clock_ahead_s = 60;
    admin_world_lacks(t, "GET /v1/doctor", "clock_skew");
    h->clock_ahead_s = -60;
    admin_world_lacks(t, "GET /v1/doctor", "clock_skew");
    h->clock_ahead_s = -61;
    admin_world_expect(t, "GET /v1/doctor", 200,
                       "{\"id\":\"clock_skew\",\"where\":\"cluster prod\",\"text\":\"the clock of "
                       "https://10.0.0.1:6443 is 61 s behind that of this machine\"");
}

static void test_a_proxy_that_seems_to_buffer(void **state)
{
    struct admin_world *t = *state;
    struct list_watch *lw = watch_list_watch(t->watches[WORLD_SERVICES].watch, 0);
    const struct err timeout = {.kind = ERR_TIMEOUT, .text = "no response"};
    struct now now = {.ms = t->now_ms};

    admin_world_list(t, WORLD_SERVICES, 200,
                     "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
                     "\"resourceVersion\":\"7\"},\"items\":[]}");
    for (int i = 0; i < BUFFERING_IN_A_ROW; i++) {
        admin_world_lacks(t, "GET /v1/doctor", "buffers");
        list_watch_unanswered(lw);
        assert_int_equal(list_watch_end(lw, &timeout, 0, now).what, LW_WAIT);
        assert_int_equal(list_watch_timer(lw, now.ms).what, LW_WATCH);
    }
    admin_world_expect(t, "GET /v1/doctor", 200,
                       "{\"id\":\"buffers\",\"where\":\"watch services\",\"text\":\"the server "
                       "answers lists, but");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_runs_for_one_key_in_a_row_are_a_loop),
        cmocka_unit_test(test_fewer_slower_or_other_runs_are_no_loop),
        cmocka_unit_test_setup_teardown(test_a_line_has_its_advice_once, admin_world_set_up,
                                        admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_commands_can_be_typed_as_they_are, admin_world_set_up,
                                        admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_finding_says_where_what_and_what_to_type,
                                        admin_world_set_up, admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_clock_that_is_more_than_a_minute_off,
                                        admin_world_set_up, admin_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_proxy_that_seems_to_buffer, admin_world_set_up,
                                        admin_world_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
