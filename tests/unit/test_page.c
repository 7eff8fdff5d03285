/* SPDX-License-Identifier: Apache-2.0 */
/* The status page: the rows of watches, hooks and clusters, and the texts that it hides. The files are
 * tested in a browser: tests/wire/test_page.py. */
#include "admin_world.h"

#include <string.h>

#include "admin/page.h"
#include "admin/page_html.h"
#include "admin/page_json.h"
#include "admin/page_model.h"
#include "kube/expiry.h"

static void expect_json(struct admin_world *t, const char *text)
{
    admin_world_expect_poor(t, "GET /page.json", 200, text);
}

static void expect_html(struct admin_world *t, const char *text)
{
    admin_world_expect_poor(t, "GET /", 200, text);
}

static void expect_both_lack(struct admin_world *t, const char *text)
{
    admin_world_lacks(t, "GET /page.json", text);
    admin_world_lacks(t, "GET /", text);
}

static void list(struct admin_world *t, size_t watch, size_t n)
{
    struct buf text = {0};

    admin_world_put_list(&text, "42", n);
    admin_world_list(t, watch, 200, buf_cstr(&text));
    buf_free(&text);
}

static void refuse(struct admin_world *t, size_t watch, const char *message)
{
    struct buf text = {0};

    buf_printf(&text, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":403,\"message\":\"%s\"}",
               message);
    admin_world_list(t, watch, 403, buf_cstr(&text));
    buf_free(&text);
}

static void test_a_watch_that_is_well(void **state)
{
    struct admin_world *t = *state;

    list(t, WORLD_SERVICES, 3);
    expect_json(t, "{\"name\":\"services\",\"cluster\":\"prod\",\"resource\":\"services\","
                   "\"word\":\"watching\",\"level\":\"good\",\"age_ms\":2500,");
    expect_json(t, "\"changes\":0,\"objects\":3,");
    expect_html(t, "<b>services</b> <small>services \xc2\xb7 prod</small>");
    expect_html(t, "<span>2 s</span></td>");
}

static void test_the_bar_empties_with_the_silence(void **state)
{
    struct admin_world *t = *state;
    struct page_model p;
    unsigned before = 1001;

    list(t, WORLD_SERVICES, 1);
    for (t->now_ms = 6000; t->now_ms < 6000 + WORLD_STALE_MS; t->now_ms += 5000) {
        page_model_init(&p, &t->model, t->now_ms);
        assert_true(p.watches[0].fresh < before && p.watches[0].fresh > 0);
        before = p.watches[0].fresh;
        page_model_fini(&p);
    }
    t->now_ms = 6000 + WORLD_STALE_MS + 1000;
    page_model_init(&p, &t->model, t->now_ms);
    assert_int_equal(p.watches[0].fresh, 0);
    assert_string_equal(p.watches[0].word, "stale");
    assert_int_equal(p.watches[0].level, PAGE_BAD);
    page_model_fini(&p);
}

static void test_a_server_that_was_never_heard(void **state)
{
    struct admin_world *t = *state;

    expect_json(t, "\"age_ms\":null,\"fresh\":0,");
    expect_html(t, "value=\"0\"></meter> <span>never</span>");
    expect_json(t, "\"level\":\"look\",\"summary\":\"Starting: 0 of 4 watches are current\"");
}

static void test_one_line_says_that_all_is_well(void **state)
{
    struct admin_world *t = *state;

    t->model.watch_count = 1;
    t->model.ready = true;
    list(t, WORLD_SERVICES, 1);
    admin_world_run(t, "");
    expect_json(t, "\"level\":\"good\","
                   "\"summary\":\"All is well: 1 watch is current, 1 hook without trouble\"");
    expect_html(t, "<p class=\"verdict good\"><b>All is well: 1 watch is current, "
                   "1 hook without trouble</b>");
    expect_both_lack(t, "informerctl");
}

static void test_only_rows_to_look_at_are_counted(void **state)
{
    struct admin_world *t = *state;
    const struct err timeout = {.kind = ERR_TIMEOUT, .text = "no answer"};

    t->model.watch_count = 1;
    t->model.ready = true;
    list(t, WORLD_SERVICES, 1);
    hook_pause(t->hooks.v[0], true);
    expect_json(t, "\"summary\":\"No fault, but look at 1 hook\"");
    admin_world_fail(t, WORLD_SERVICES, &timeout);
    expect_json(t, "\"summary\":\"No fault, but look at 1 watch and 1 hook\"");
    hook_pause(t->hooks.v[0], false);
    expect_json(t, "\"summary\":\"No fault, but look at 1 watch\"");
}

static void test_a_problem_comes_with_the_command_to_type(void **state)
{
    struct admin_world *t = *state;

    list(t, WORLD_SERVICES, 20);
    list(t, WORLD_SERVICES, 1);
    expect_json(
        t, "\"problem_count\":2,\"problems\":[{\"id\":\"held\",\"kind\":\"watch\","
           "\"name\":\"services\",\"text\":\"watch services: a list that would delete 19 of 20 "
           "objects is held");
    expect_json(t, "\"todo\":\"`informerctl guard accept services` or `informerctl guard reject "
                   "services`\"}");
    expect_json(t, "\"word\":\"held\",\"level\":\"bad\"");
    expect_json(t, "\"summary\":\"2 problems\"");
    expect_html(t, "<span class=\"todo\"><code>informerctl guard accept services</code> or "
                   "<code>informerctl guard reject services</code></span>");
}

static void test_problems_come_first_in_the_static_table(void **state)
{
    struct admin_world *t = *state;

    list(t, WORLD_SERVICES, 1);
    refuse(t, WORLD_PRIVATE, "no");
    struct admin_response r = admin_world_ask(t, "GET", "/", false);
    const char *html = buf_cstr(&r.body);
    const char *bad = strstr(html, "<b>private</b>");
    const char *good = strstr(html, "<b>services</b>");

    assert_true(bad != NULL && good != NULL && bad < good);
    buf_free(&r.body);
}

/* A thousand stale watches give a page that begins with its rows, and not with a thousand banners. */
static void test_only_the_first_problems_are_written_out(void **state)
{
    struct admin_world *t = *state;
    struct admin_watch many[20];
    const struct admin_watch *few = t->model.watches;
    size_t n = t->model.watch_count;

    list(t, WORLD_SERVICES, 1);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = few[WORLD_SERVICES];
    t->model.watches = many;
    t->model.watch_count = ARRAY_LEN(many);
    t->now_ms += WORLD_STALE_MS;
    expect_json(t, "\"problem_count\":20,");
    expect_html(t, "and 12 more: informerctl doctor lists all");
    t->model.watches = few;
    t->model.watch_count = n;
}

/* An outage of many watches does not push what only a person can mend off the page. */
static void test_a_held_list_and_a_failed_reload_stand_before_an_outage(void **state)
{
    struct admin_world *t = *state;
    struct admin_watch many[21];
    const struct admin_watch *few = t->model.watches;
    size_t n = t->model.watch_count;

    refuse(t, WORLD_PRIVATE, "no");
    list(t, WORLD_SERVICES, 20);
    list(t, WORLD_SERVICES, 1); /* held */
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = few[WORLD_PRIVATE];
    many[20] = few[WORLD_SERVICES];
    t->model.watches = many;
    t->model.watch_count = ARRAY_LEN(many);
    t->model.state.trouble = "No space left on device";
    t->model.reload =
        (struct admin_reload){.result = "failed", .failing_ns = 1, .problems = "no\n"};
    expect_json(t, "\"problem_count\":23,\"problems\":[{\"id\":\"reload\",");
    expect_json(t, "},{\"id\":\"held\",\"kind\":\"watch\",\"name\":\"services\",");
    expect_json(t, "},{\"id\":\"state\",");
    t->model.reload = (struct admin_reload){0};
    t->model.state.trouble = NULL;
    t->model.watches = few;
    t->model.watch_count = n;
}

static void test_texts_of_a_server_are_no_markup(void **state)
{
    struct admin_world *t = *state;

    refuse(t, WORLD_SERVICES, "<script>alert(1)</script>");
    expect_html(t, "&lt;script&gt;alert(1)&lt;/script&gt;");
    admin_world_lacks(t, "GET /", "<script>alert");
    expect_json(t, "<script>alert(1)</script>"); /* the page puts it in as text */
}

/* systemctl status says it in the same words. */
static void test_a_server_that_does_not_answer_is_no_contact(void **state)
{
    struct admin_world *t = *state;
    const struct err timeout = {.kind = ERR_TIMEOUT, .text = "no answer for 45 s"};

    list(t, WORLD_SERVICES, 1);
    admin_world_fail(t, WORLD_SERVICES, &timeout);
    expect_json(t, "\"level\":\"look\",\"age_ms\":2500,");
    expect_json(t, "\"error\":\"no contact: no answer for 45 s\"}");
    expect_html(t, "<td class=\"error\">no contact: no answer for 45 s</td>");
}

static void test_a_hook(void **state)
{
    struct admin_world *t = *state;

    list(t, WORLD_SERVICES, 2);
    admin_world_run(t, "");
    t->now_ms += 100;
    admin_world_run(t, "exit status 3");
    expect_json(t, "{\"name\":\"print\",\"word\":\"failing\",\"level\":\"look\",\"running\":0,"
                   "\"pending\":1,\"parked\":0,\"oldest_ms\":");
    expect_json(t, "\"runs_ok\":1,\"runs_failed\":1,\"last\":{\"outcome\":\"failed\",");
    expect_json(t, "\"error\":\"exit status 3\"}");
    expect_html(t, "<td class=\"num failed\">1 of 2</td>");
    t->model.hides_keys = true;
    expect_json(t, "\"error\":\"timeout: exit status 0\"}");
    t->model.pending_ms = 1;
    t->now_ms += 100000;
    expect_json(t, "\"word\":\"overdue\",\"level\":\"bad\"");
    hook_pause(t->hooks.v[0], true);
    t->model.pending_ms = 0;
    expect_json(t, "\"word\":\"paused\",\"level\":\"look\"");
}

static void test_servers_and_credentials(void **state)
{
    struct admin_world *t = *state;
    struct expiry e = {0};
    const struct tls_dates dates = {.from_s = 1714500000, .till_s = 1714558890};
    const struct err refused = {.kind = ERR_REFUSED, .text = "refused, by /x/y.sock"};

    e.items[EXPIRY_CERT].v[0] = dates;
    e.items[EXPIRY_CERT].n = 1;
    t->logins[1].expiry = &e;
    servers_failed(&t->servers[0], 0, &refused, t->now_ms - 1000);
    expect_json(t, "{\"cluster\":\"prod\",\"url\":\"https://10.0.0.1:6443\",\"word\":\"failed\","
                   "\"level\":\"look\",\"in_use\":false,\"since_ms\":1000,"
                   "\"error\":\"refused, by .../y.sock\"}");
    expect_json(t, "\"credentials\":[{\"cluster\":\"prod\",\"type\":\"certificate\","
                   "\"word\":\"valid\",\"level\":\"good\",\"till_ms\":1714558890000}]");
    expect_html(t, "<td class=\"since\">2024-05-01 10:21:30 UTC</td>");
    t->now_ms += 100000;
    expect_json(t, "\"word\":\"expired\",\"level\":\"bad\"");
    t->logins[1].expiry = NULL;
}

static void test_credential_files_lose_their_folders(void **state)
{
    struct admin_world *t = *state;

    t->logins[0].trouble = "client key /etc/hush/a.key: Permission denied";
    t->clusters[1].awaits = "/etc/hush/kubelet.conf";
    expect_json(t, "client key .../a.key: Permission denied");
    expect_json(t, "waiting for .../kubelet.conf");
    expect_both_lack(t, "hush");
}

static void test_objects_have_no_names_here(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(t, WORLD_SERVICES, 200,
                     "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
                     "\"resourceVersion\":\"42\"},\"items\":[{\"metadata\":{\"name\":\"/hush\","
                     "\"namespace\":\"b\",\"uid\":\"\"}}]}");
    t->model.hides_keys = true;
    expect_json(t, "\"skipped\":1,");
    expect_html(t, ">1 skipped</td>");
    expect_both_lack(t, "hush");
    t->model.hides_keys = false;
    expect_json(t, "hush");
}

static void test_the_headers_shut_everything_else_out(void **state)
{
    static const char *const pages[] = {"/", "/page.json", "/page.css", "/page.js", "/page.svg"};
    static const char *const wanted[] = {
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; ",
        "frame-ancestors 'none'", "X-Content-Type-Options: nosniff\r\n",
        "Referrer-Policy: no-referrer\r\n", "Cache-Control: no-store\r\n"};

    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        struct admin_response r = admin_world_ask(*state, "GET", pages[i], false);

        assert_int_equal(r.status, 200);
        assert_true(r.body.len > 100);
        for (size_t k = 0; k < ARRAY_LEN(wanted); k++)
            assert_non_null(strstr(r.headers, wanted[k]));
        buf_free(&r.body);
    }
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_a_watch_that_is_well),
        WITH_WORLD(test_the_bar_empties_with_the_silence),
        WITH_WORLD(test_a_server_that_was_never_heard),
        WITH_WORLD(test_one_line_says_that_all_is_well),
        WITH_WORLD(test_only_rows_to_look_at_are_counted),
        WITH_WORLD(test_a_problem_comes_with_the_command_to_type),
        WITH_WORLD(test_problems_come_first_in_the_static_table),
        WITH_WORLD(test_only_the_first_problems_are_written_out),
        WITH_WORLD(test_a_held_list_and_a_failed_reload_stand_before_an_outage),
        WITH_WORLD(test_texts_of_a_server_are_no_markup),
        WITH_WORLD(test_a_server_that_does_not_answer_is_no_contact),
        WITH_WORLD(test_a_hook),
        WITH_WORLD(test_servers_and_credentials),
        WITH_WORLD(test_credential_files_lose_their_folders),
        WITH_WORLD(test_objects_have_no_names_here),
        WITH_WORLD(test_the_headers_shut_everything_else_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
