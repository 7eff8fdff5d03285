/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the control socket, one behind the other as on a connection, to a small daemon: each gets an answer
 * with a known status, JSON where it says so, and without a Secret for those who may not see one. The first byte
 * says who asks. */
#include "admin_world.h"
#include "base/log_levels.h"
#include "fuzz_input.h"
#include "proto/http_in.h"
#include "proto/json_in.h"

#define SECRET "c2VjcmV0"

static bool any_token(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

static void check_lines(struct str text)
{
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);

        ensure(end != NULL);
        size_t n = (size_t)(end - text.p);
        ensure(json_in_scan(str_of(text.p, n), any_token, NULL, NULL) == ERR_OK);
        text = str_of(end + 1, text.n - n - 1);
    }
}

static void check_answer(const struct admin_request *req, struct admin_response *r)
{
    if (r->stream != NULL) {
        ensure(r->body.len == 0);
        (void)admin_stream_pull(r->stream, &r->body, 65536);
        check_lines(buf_str(&r->body));
    } else if (strcmp(r->content_type, "application/json") == 0) {
        ensure(json_in_scan(buf_str(&r->body), any_token, NULL, NULL) == ERR_OK);
    }
    ensure(r->status >= 200 && r->status < 600);
    ensure(req->privileged || r->body.len == 0 ||
           memmem(r->body.data, r->body.len, SECRET, strlen(SECRET)) == NULL);
    ensure(!req->anonymous || memmem(req->target.p, req->target.n, "/v1/", 4) != req->target.p ||
           r->status >= 400);
}

/* The head of one request, which io/listener copies as the body may come later. */
struct request {
    struct buf method;
    struct buf target;
    struct buf host;
};

/* Reads one request as io/listener does. False: it is not complete or refused. */
static bool read_request(struct str *in, struct request *to, bool *reusable)
{
    static const struct http_limits limits = {.head_bytes = 16384, .body_bytes = 65536};
    struct http_in *h = http_in_create(HTTP_IN_REQUEST, &limits);
    enum http_in_part part;
    struct str body;
    struct err err = {0};

    do {
        part = http_in_read(h, in, &body, &err);
        if (part == HTTP_IN_HEAD) {
            buf_append_str(&to->method, http_in_head(h)->method);
            buf_append_str(&to->target, http_in_head(h)->target);
            buf_append_str(&to->host, http_in_head(h)->host);
        }
    } while (part == HTTP_IN_HEAD || part == HTTP_IN_BODY);
    if (part == HTTP_IN_FAILED)
        fuzz_check_line(err.text);
    *reusable = http_in_reusable(h);
    http_in_destroy(&h);
    return part == HTTP_IN_END;
}

static bool answer_one(struct admin_world *t, struct str *in, unsigned who)
{
    struct request request = {0};
    bool reusable = false;
    bool is_complete = read_request(in, &request, &reusable);

    if (is_complete) {
        const struct admin_request req = {.method = buf_str(&request.method),
                                          .target = buf_str(&request.target),
                                          .host = buf_str(&request.host),
                                          .privileged = who % 4 == 0,
                                          .anonymous = who % 4 == 3};
        struct admin_response r;

        admin_handle(&t->model, &req, t->now_ms, &r);
        check_answer(&req, &r);
        admin_stream_destroy(&r.stream);
        buf_free(&r.body);
    }
    buf_free(&request.method);
    buf_free(&request.target);
    buf_free(&request.host);
    return is_complete && reusable;
}

static void fill(struct admin_world *t)
{
    static struct log_levels levels;
    struct buf list = {0};

    t->model.log_levels = &levels;
    t->model.state = (struct admin_state){.dir = "/s", .kept = true};
    t->model.wall_ns = WORLD_STARTED_NS + UINT64_C(3500000000);
    admin_world_put_list(&list, "7", 3);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    admin_world_list(t, WORLD_PRIVATE, 200,
                     "{\"kind\":\"SecretList\",\"apiVersion\":\"v1\",\"metadata\":{"
                     "\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":\"p\","
                     "\"namespace\":\"b\",\"uid\":\"p\",\"resourceVersion\":\"1\"},"
                     "\"data\":{\"k\":\"" SECRET "\"}}]}");
    admin_world_add_hook(t, (struct world_hook){.name = "all", .source_count = 3});
    buf_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    unsigned who = fuzz_take_byte(&in);
    struct admin_world *t;
    void *state;

    log_set_level(LOG_LVL_ERROR);
    ensure(admin_world_set_up(&state) == 0);
    t = state;
    fill(t);
    while (in.n > 0 && answer_one(t, &in, who))
        ;
    ensure(admin_world_tear_down(&state) == 0);
    return 0;
}
