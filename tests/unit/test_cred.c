/* SPDX-License-Identifier: Apache-2.0 */
/* io/cred with a stand-in for the helper, whose files the test replaces; the clock stands unless
 * the test moves it. */
#include "io/cred.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/memfile.h"
#include "base/wire.h"
#include "campaign.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "kube/expiry.h"
#include "loop_until.h"
#include "play_clock.h"
#include "tls_pair.h"

enum {
    CA_FILE = 3,
    CERT_FILE,
    KEY_FILE,
    TOKEN_FILE,
    FILES,
    OTHER_FILE,
    TAG = 100,
    SECOND_MS = 1000,
    MINUTE_MS = 60000,
    HOUR_MS = 3600000,
    RETRY_MS = 800,
    TOKEN_CHECK_MS = 50000,
    CHECK_MS = 300000,
    ROOM = 65536 /* bytes of memory that do not count */
};

struct rig {
    struct loop *loop;
    struct helper_link *link;
    int far;                  /* the helper's end */
    const char *files[FILES]; /* the content; NULL = ENOENT */
    unsigned opens[FILES];    /* so often asked for */
    bool is_slow;             /* the helper does not answer */
    struct cred_params params;
    struct cred *cred;
    struct tls_ctx *ctx; /* the newest; NULL = none */
    char token[64];
    int contexts, tokens, ready, lacks;
    struct err lack; /* the last one */
};

static struct tls_peer_id old_ca, new_ca, old_server, new_server, old_client, new_client;

/* ---- Events */

static void on_tls(void *arg, struct tls_ctx *ctx)
{
    struct rig *r = arg;

    tls_ctx_unref(&r->ctx);
    r->ctx = tls_ctx_ref(ctx);
    r->contexts++;
}

static void on_token(void *arg, const char *token)
{
    struct rig *r = arg;

    snprintf(r->token, sizeof(r->token), "%s", token);
    r->tokens++;
}

static void on_ready(void *arg)
{
    struct rig *r = arg;

    r->ready++;
}

static void on_lack(void *arg, const struct err *err)
{
    struct rig *r = arg;

    r->lacks++;
    r->lack = *err;
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    struct rig *r = arg;

    cred_opened(r->cred, tag, fd, error);
}

static void on_changed(void *arg, uint32_t file)
{
    struct rig *r = arg;

    cred_changed(r->cred, file);
}

static void on_lost(void *arg, const struct err *err)
{
    (void)arg;
    fail_msg("%s", err->text);
}

/* ---- The helper */

static void send_reply(const struct rig *r, const struct wire_reply *reply, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {
        .head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}
    };
    struct iovec iov = {mem_dup(reply, sizeof(*reply)), sizeof(*reply)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
    }
    assert_int_equal(sendmsg(r->far, &msg, 0), sizeof(*reply));
    free(iov.iov_base);
}

static void answer(struct rig *r, const struct wire_request_image *head)
{
    struct wire_reply reply = {.type = WIRE_OPENED, .id = head->id, .error = ENOENT};
    int fd = -1;

    assert_int_equal(head->type, WIRE_OPEN);
    assert_in_range(head->number, CA_FILE, TOKEN_FILE);
    r->opens[head->number]++;
    if (r->files[head->number] != NULL) {
        assert_int_equal(memfile_create("file", str_c(r->files[head->number]), &fd, NULL), ERR_OK);
        reply.error = 0;
    }
    send_reply(r, &reply, fd);
    if (fd >= 0)
        close(fd);
}

static bool answer_one(struct rig *r)
{
    struct wire_request_image head;

    if (r->is_slow || recv(r->far, &head, sizeof(head), MSG_DONTWAIT) < 0)
        return false;
    answer(r, &head);
    return true;
}

/* Everything that is due is done; takes a few milliseconds of the clock. */
static void settle(struct rig *r)
{
    for (int quiet = 0; quiet < 3; quiet++) {
        play_clock_pass(1);
        loop_turns(r->loop, 1);
        while (answer_one(r))
            quiet = 0;
    }
}

static void pass(struct rig *r, uint64_t ms)
{
    play_clock_pass(ms);
    settle(r);
}

static void tell_changed(struct rig *r, uint32_t file)
{
    send_reply(r, &(struct wire_reply){.type = WIRE_CHANGED, .id = file}, -1);
    settle(r);
}

/* The file has this content now, and the helper tells it. */
static void put(struct rig *r, uint32_t file, const char *text)
{
    r->files[file] = text;
    tell_changed(r, file);
}

/* ---- Set-up */

static struct rig rig_of_files(void)
{
    return (struct rig){
        .params = {.cluster = "prod",
                   .tls = true,
                   .items = {{.path = "/ca", .file = CA_FILE},
                             {.path = "/cert", .file = CERT_FILE},
                             {.path = "/key", .file = KEY_FILE},
                             {.path = "/token", .file = TOKEN_FILE}},
                   .retry = {RETRY_MS, MINUTE_MS, 2, 0},
                   .tag = TAG},
        .files = {[CA_FILE] = old_ca.cert_pem,
                   [CERT_FILE] = old_client.cert_pem,
                   [KEY_FILE] = old_client.key_pem,
                   [TOKEN_FILE] = "token-1\n"     },
    };
}

static void begin(struct rig *r)
{
    static const struct helper_link_events link_events = {
        .on_opened = on_opened, .on_changed = on_changed, .on_lost = on_lost};
    static const struct cred_events events = {on_tls, on_token, on_ready, on_lack};
    int ends[2];

    alarm(PATIENCE_S);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    play_clock_stop();
    r->loop = loop_create();
    r->far = ends[1];
    r->link = helper_link_create(r->loop, ends[0], &link_events, r);
    r->params.loop = r->loop;
    r->params.link = r->link;
    r->cred = cred_create(&r->params, &events, r);
    cred_renew(r->cred);
    cred_changed(r->cred, OTHER_FILE);
    assert_int_equal(r->ready + r->contexts + r->tokens, 0);
    settle(r);
}

static void finish(struct rig *r)
{
    cred_dispose(&r->cred);
    cred_dispose(&r->cred);
    helper_link_dispose(&r->link);
    loop_destroy(&r->loop); /* panics if a handle is left */
    close(r->far);
    tls_ctx_unref(&r->ctx);
    play_clock_go();
    alarm(0);
}

static void expect(const struct rig *r, int contexts, int tokens)
{
    assert_int_equal(r->contexts, contexts);
    assert_int_equal(r->tokens, tokens);
    assert_int_equal(r->ready, 1);
}

/* The common name that a server of this CA sees of us; "" = the handshake fails. */
static void expect_shown(const struct rig *r, struct tls_peer_id *server_id, const char *subject)
{
    char shown[128] = "";
    struct tls_peer_server server;
    struct tls_pair p;

    tls_peer_server_init(&server, server_id, &old_ca, TLS_PEER_1_2);
    tls_pair_open(&p, &server, r->ctx, "api.example", NULL);
    const mbedtls_x509_crt *crt = mbedtls_ssl_get_peer_cert(&p.peer.ssl);
    if (p.result == TLS_OK && crt != NULL)
        assert_true(mbedtls_x509_dn_gets(shown, sizeof(shown), &crt->subject) > 0);
    assert_string_equal(shown, subject);
    tls_pair_fini(&p);
    tls_peer_server_fini(&server);
}

/* The expiry of an item in the status: NULL = it does not expire. */
static const struct tls_dates *dates_of(const struct rig *r, enum expiry_item item)
{
    return expiry_look(cred_expiry(r->cred), item, 0, 0).dates;
}

static void expect_trouble(const struct rig *r, const char *text)
{
    const char *trouble = cred_trouble(r->cred);

    if (text == NULL)
        assert_null(trouble);
    else if (trouble == NULL || strstr(trouble, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, trouble != NULL ? trouble : "");
}

/* ---- The start */

static void test_files_are_read_at_the_start(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    expect(&r, 1, 1);
    assert_string_equal(r.token, "token-1");
    expect_shown(&r, &old_server, "CN=old");
    expect_shown(&r, &new_server, "");
    assert_int_equal(cred_authorities(r.cred)->n, 1);
    assert_true(dates_of(&r, EXPIRY_CA)->till_s > 0 && dates_of(&r, EXPIRY_CERT)->till_s > 0);
    expect_trouble(&r, NULL);
    for (int i = CA_FILE; i < FILES; i++)
        assert_int_equal(r.opens[i], 1);
    finish(&r);
}

static void test_data_is_used_without_the_helper(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    for (int i = 0; i < CRED_ITEMS; i++)
        r.params.items[i] = (struct cred_source){.data = r.files[CA_FILE + i]};
    begin(&r);
    expect(&r, 1, 1);
    assert_string_equal(r.token, "token-1");
    expect_shown(&r, &old_server, "CN=old");
    pass(&r, HOUR_MS);
    cred_renew(r.cred);
    settle(&r);
    expect(&r, 1, 1);
    finish(&r);
}

/* With plain http no credentials are sent, so none are read. */
static void test_without_tls_nothing_is_read(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    r.params.tls = false;
    begin(&r);
    expect(&r, 0, 0);
    pass(&r, HOUR_MS);
    cred_renew(r.cred);
    tell_changed(&r, TOKEN_FILE);
    assert_int_equal(r.opens[TOKEN_FILE] + r.opens[CA_FILE], 0);
    assert_int_equal(cred_authorities(r.cred)->n, 0);
    finish(&r);
}

/* A server that is not verified needs no CA, but a context. */
static void test_an_insecure_server_without_credentials(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    memset(r.params.items, 0, sizeof(r.params.items));
    r.params.insecure = true;
    begin(&r);
    expect(&r, 1, 0);
    expect_shown(&r, &new_server, "");
    assert_int_equal(cred_authorities(r.cred)->n, 0);
    finish(&r);
}

static void test_an_insecure_server_with_a_certificate(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    r.params.items[CRED_CA] = (struct cred_source){0};
    r.params.insecure = true;
    begin(&r);
    expect(&r, 1, 1);
    expect_shown(&r, &new_server, "CN=old");
    finish(&r);
}

static void test_files_that_come_later(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    memset(r.files, 0, sizeof(r.files));
    begin(&r);
    assert_int_equal(r.ready, 0);
    assert_int_equal(r.lacks, 3); /* one for each source */
    assert_string_equal(r.lack.text, "token /token: No such file or directory");
    put(&r, CERT_FILE, old_client.cert_pem);
    put(&r, KEY_FILE, old_client.key_pem);
    put(&r, TOKEN_FILE, "token-1");
    assert_int_equal(r.ready + r.contexts, 0);
    r.files[CA_FILE] = old_ca.cert_pem; /* nobody tells it */
    pass(&r, SECOND_MS);
    expect(&r, 1, 1);
    finish(&r);
}

/* No other CA stands in for it. */
static void test_a_ca_file_that_is_empty_at_the_start(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    r.files[CA_FILE] = "";
    begin(&r);
    assert_int_equal(r.ready + r.contexts, 0);
    assert_string_equal(r.lack.text, "the CA (/ca) holds no certificate in PEM form");
    put(&r, CA_FILE, old_ca.cert_pem);
    expect(&r, 1, 1);
    expect_shown(&r, &old_server, "CN=old");
    finish(&r);
}

static void test_the_token_of_the_kubeconfig_stands_in(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    r.params.items[CRED_TOKEN].data = " fixed ";
    r.files[TOKEN_FILE] = "two words";
    begin(&r);
    expect(&r, 1, 1);
    assert_string_equal(r.token, "fixed");
    expect_trouble(&r, "token /token: holds white space");
    put(&r, TOKEN_FILE, "token-2");
    expect(&r, 1, 2);
    assert_string_equal(r.token, "token-2");
    expect_trouble(&r, NULL);
    put(&r, TOKEN_FILE, NULL);
    expect(&r, 1, 2);
    assert_int_equal(r.lacks, 0);
    finish(&r);
}

/* ---- The token */

static void test_a_new_token_is_used(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    put(&r, TOKEN_FILE, "token-2");
    expect(&r, 1, 2);
    assert_string_equal(r.token, "token-2");
    put(&r, TOKEN_FILE, " token-2\n"); /* the same */
    expect(&r, 1, 2);
    assert_int_equal(r.opens[TOKEN_FILE], 3);
    assert_int_equal(r.opens[CERT_FILE], 1);
    finish(&r);
}

static void test_a_token_that_cannot_be_used_changes_nothing(void **state)
{
    static const char *const bad[] = {NULL, "", " \n", "two words", "a\177b", "a\nX-Header: b"};
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put(&r, TOKEN_FILE, bad[i]);
        assert_int_equal(r.opens[TOKEN_FILE], i + 2);
    }
    expect(&r, 1, 1);
    pass(&r, MINUTE_MS);
    expect(&r, 1, 1);
    put(&r, TOKEN_FILE, "token-2");
    expect(&r, 1, 2);
    finish(&r);
}

static void test_a_token_is_read_every_50_s(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    r.files[TOKEN_FILE] = "token-2"; /* nobody tells it */
    pass(&r, TOKEN_CHECK_MS - SECOND_MS);
    expect(&r, 1, 1);
    pass(&r, SECOND_MS);
    expect(&r, 1, 2);
    finish(&r);
}

/* {"exp":4294967295}: in the year 2106. */
static void test_the_expiry_of_a_token_is_known(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    assert_null(dates_of(&r, EXPIRY_TOKEN));
    put(&r, TOKEN_FILE, "h.eyJleHAiOjQyOTQ5NjcyOTV9.s");
    assert_int_equal(dates_of(&r, EXPIRY_TOKEN)->till_s, UINT32_MAX);
    unsigned opens = r.opens[TOKEN_FILE];
    pass(&r, CHECK_MS - MINUTE_MS); /* it is not read as often as one without an expiry */
    assert_int_equal(r.opens[TOKEN_FILE], opens);
    pass(&r, MINUTE_MS);
    assert_int_equal(r.opens[TOKEN_FILE], opens + 1);
    finish(&r);
}

static void test_a_401_has_files_read(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    cred_renew(r.cred);
    cred_renew(r.cred);
    settle(&r);
    expect(&r, 1, 1);
    assert_int_equal(r.opens[TOKEN_FILE], 2);
    assert_int_equal(r.opens[CERT_FILE], 2);
    assert_int_equal(r.opens[CA_FILE], 1);
    r.files[TOKEN_FILE] = "token-2";
    cred_renew(r.cred);
    settle(&r);
    expect(&r, 1, 2);
    finish(&r);
}

/* ---- Certificate and key */

static void test_certificate_and_key_that_are_replaced_one_after_the_other(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    put(&r, CERT_FILE, new_client.cert_pem);
    pass(&r, HOUR_MS);
    expect(&r, 1, 1);
    put(&r, KEY_FILE, "");
    expect(&r, 1, 1);
    put(&r, KEY_FILE, new_client.key_pem);
    expect(&r, 2, 1);
    expect_shown(&r, &old_server, "CN=new");
    put(&r, KEY_FILE, old_client.key_pem); /* the other way round */
    expect(&r, 2, 1);
    put(&r, CERT_FILE, old_client.cert_pem);
    expect(&r, 3, 1);
    expect_shown(&r, &old_server, "CN=old");
    finish(&r);
}

/* Nobody tells of the change. */
static void test_certificates_are_checked_every_5_minutes(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    r.files[CERT_FILE] = new_client.cert_pem;
    r.files[KEY_FILE] = new_client.key_pem;
    pass(&r, CHECK_MS - MINUTE_MS);
    expect(&r, 1, 1);
    pass(&r, MINUTE_MS);
    expect(&r, 2, 1);
    expect_shown(&r, &old_server, "CN=new");
    finish(&r);
}

static void test_equal_files_change_nothing(void **state)
{
    struct rig r = rig_of_files();
    char *copy = mem_strdup(old_client.cert_pem);

    (void)state;
    begin(&r);
    put(&r, CERT_FILE, copy);
    tell_changed(&r, KEY_FILE);
    tell_changed(&r, CA_FILE);
    tell_changed(&r, OTHER_FILE);
    expect(&r, 1, 1);
    finish(&r);
    free(copy);
}

static void test_a_change_while_the_helper_is_slow(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    r.is_slow = true;
    tell_changed(&r, CERT_FILE);
    for (int i = 0; i < 10; i++) {
        tell_changed(&r, KEY_FILE);
        cred_renew(r.cred);
    }
    r.files[CERT_FILE] = new_client.cert_pem;
    r.files[KEY_FILE] = new_client.key_pem;
    r.is_slow = false;
    settle(&r);
    expect(&r, 2, 1);
    assert_int_equal(r.opens[CERT_FILE], 3); /* once more, as it had changed meanwhile */
    finish(&r);
}

/* As the kubelet has it: one file, which is opened once for both. */
static void test_a_combined_file(void **state)
{
    struct rig r = rig_of_files();
    char *one = mem_printf("%s%s", old_client.cert_pem, old_client.key_pem);
    char *two = mem_printf("%s%s", new_client.key_pem, new_client.cert_pem);

    (void)state;
    r.params.items[CRED_KEY].path = "/cert";
    r.files[CERT_FILE] = one;
    r.files[KEY_FILE] = NULL;
    begin(&r);
    expect_shown(&r, &old_server, "CN=old");
    put(&r, CERT_FILE, two);
    expect(&r, 2, 1);
    expect_shown(&r, &old_server, "CN=new");
    put(&r, CERT_FILE, new_client.cert_pem); /* only half of it is written */
    expect(&r, 2, 1);
    assert_int_equal(r.opens[KEY_FILE], 0);
    finish(&r);
    free(one);
    free(two);
}

static void test_a_certificate_in_the_kubeconfig_with_its_key_in_a_file(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    r.params.items[CRED_CERT] = (struct cred_source){.data = old_client.cert_pem};
    r.files[KEY_FILE] = new_client.key_pem;
    begin(&r);
    assert_int_equal(r.ready, 0);
    put(&r, KEY_FILE, old_client.key_pem);
    expect(&r, 1, 1);
    finish(&r);
}

static void test_many_rotations_leave_nothing(void **state)
{
    struct rig r = rig_of_files();
    int rotations = (int)campaign_size(200, 1000);
    size_t before = 0;

    (void)state;
    log_set_level(LOG_LVL_WARN);
    begin(&r);
    for (int i = 1; i <= rotations; i++) {
        const struct tls_peer_id *id = i % 2 == 0 ? &old_client : &new_client;

        r.files[CERT_FILE] = id->cert_pem;
        r.files[KEY_FILE] = id->key_pem;
        send_reply(&r, &(struct wire_reply){.type = WIRE_CHANGED, .id = CERT_FILE}, -1);
        while (r.contexts == i) {
            play_clock_pass(1);
            loop_turns(r.loop, 1);
            answer_one(&r);
        }
        if (i == 10)
            before = mallinfo2().uordblks;
    }
    settle(&r);
    expect(&r, rotations + 1, 1);
    assert_true(mallinfo2().uordblks < before + ROOM);
    log_set_level(LOG_LVL_INFO);
    finish(&r);
}

/* ---- The CA */

static void test_a_new_ca_is_used_and_the_old_one_is_not(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    put(&r, CA_FILE, new_ca.cert_pem);
    expect(&r, 2, 1);
    expect_shown(&r, &new_server, "CN=old");
    expect_shown(&r, &old_server, "");
    /* The cluster is known by both. */
    assert_int_equal(cred_authorities(r.cred)->n, 2);
    finish(&r);
}

static void test_a_ca_file_without_a_ca_changes_nothing(void **state)
{
    struct rig r = rig_of_files();
    char *half = mem_printf("%s%.100s", new_ca.cert_pem, old_ca.cert_pem);

    (void)state;
    begin(&r);
    put(&r, CA_FILE, "");
    put(&r, CA_FILE, "no certificate");
    put(&r, CA_FILE, old_client.key_pem);
    put(&r, CA_FILE, half);
    put(&r, CA_FILE, NULL);
    expect_trouble(&r, NULL); /* for a moment: somebody may be writing it */
    pass(&r, HOUR_MS);
    expect(&r, 1, 1);
    expect_trouble(&r, "CA /ca: ");
    expect_shown(&r, &old_server, "CN=old");
    put(&r, CA_FILE, old_ca.cert_pem);
    expect_trouble(&r, NULL);
    expect(&r, 1, 1);
    put(&r, CA_FILE, new_ca.cert_pem);
    expect(&r, 2, 1);
    finish(&r);
    free(half);
}

/* Neither waits for the other one. */
static void test_a_ca_is_used_though_the_pair_does_not_fit(void **state)
{
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    put(&r, CERT_FILE, new_client.cert_pem);
    put(&r, CA_FILE, new_ca.cert_pem);
    expect(&r, 2, 1);
    expect_shown(&r, &new_server, "CN=old");
    put(&r, KEY_FILE, new_client.key_pem);
    expect(&r, 3, 1);
    expect_shown(&r, &new_server, "CN=new");
    finish(&r);
}

static int issue_all(void **state)
{
    const struct tls_peer_spec ca = {.subject = "CN=ca", .ca = true};
    const struct tls_peer_spec server = {.subject = "CN=api", .dns = {"api.example"}};
    const struct tls_peer_spec old_one = {.subject = "CN=old"};
    const struct tls_peer_spec new_one = {.subject = "CN=new"};

    (void)state;
    tls_peer_issue(&old_ca, NULL, &ca);
    tls_peer_issue(&new_ca, NULL, &ca);
    tls_peer_issue(&old_server, &old_ca, &server);
    tls_peer_issue(&new_server, &new_ca, &server);
    tls_peer_issue(&old_client, &old_ca, &old_one);
    tls_peer_issue(&new_client, &old_ca, &new_one);
    return 0;
}

static int free_all(void **state)
{
    struct tls_peer_id *const all[] = {&old_ca,     &new_ca,     &old_server,
                                       &new_server, &old_client, &new_client};

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        tls_peer_id_fini(all[i]);
    return 0;
}

/* ---- Another configuration of the helper */

static void test_files_are_read_by_their_new_numbers(void **state)
{
    const uint32_t swapped[CRED_ITEMS] = {TOKEN_FILE, CERT_FILE, KEY_FILE, CA_FILE};
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    cred_renumber(r.cred, swapped, 0);
    r.files[TOKEN_FILE] = old_ca.cert_pem;
    put(&r, CA_FILE, "token-2\n");
    tell_changed(&r, TOKEN_FILE);
    assert_string_equal(r.token, "token-2");
    expect(&r, 1, 2); /* the CA is the same */
    assert_int_equal(r.opens[TOKEN_FILE], 2);
    finish(&r);
}

static void test_a_file_that_is_gone_is_read_no_more(void **state)
{
    const uint32_t files[CRED_ITEMS] = {CA_FILE, CERT_FILE, KEY_FILE, CRED_GONE};
    struct rig r = rig_of_files();

    (void)state;
    begin(&r);
    cred_renumber(r.cred, files, 0);
    put(&r, TOKEN_FILE, "of another cluster\n");
    cred_changed(r.cred, CRED_GONE);
    cred_renew(r.cred);
    pass(&r, HOUR_MS);
    assert_int_equal(r.opens[TOKEN_FILE], 1);
    assert_string_equal(r.token, "token-1");
    assert_true(r.opens[CA_FILE] > 1);
    expect(&r, 1, 1);
    expect_trouble(&r, NULL);
    finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_read_at_the_start),
        cmocka_unit_test(test_data_is_used_without_the_helper),
        cmocka_unit_test(test_without_tls_nothing_is_read),
        cmocka_unit_test(test_an_insecure_server_without_credentials),
        cmocka_unit_test(test_an_insecure_server_with_a_certificate),
        cmocka_unit_test(test_files_that_come_later),
        cmocka_unit_test(test_a_ca_file_that_is_empty_at_the_start),
        cmocka_unit_test(test_the_token_of_the_kubeconfig_stands_in),
        cmocka_unit_test(test_a_new_token_is_used),
        cmocka_unit_test(test_a_token_that_cannot_be_used_changes_nothing),
        cmocka_unit_test(test_a_token_is_read_every_50_s),
        cmocka_unit_test(test_the_expiry_of_a_token_is_known),
        cmocka_unit_test(test_a_401_has_files_read),
        cmocka_unit_test(test_certificate_and_key_that_are_replaced_one_after_the_other),
        cmocka_unit_test(test_certificates_are_checked_every_5_minutes),
        cmocka_unit_test(test_equal_files_change_nothing),
        cmocka_unit_test(test_a_change_while_the_helper_is_slow),
        cmocka_unit_test(test_a_combined_file),
        cmocka_unit_test(test_a_certificate_in_the_kubeconfig_with_its_key_in_a_file),
        cmocka_unit_test(test_many_rotations_leave_nothing),
        cmocka_unit_test(test_a_new_ca_is_used_and_the_old_one_is_not),
        cmocka_unit_test(test_a_ca_file_without_a_ca_changes_nothing),
        cmocka_unit_test(test_a_ca_is_used_though_the_pair_does_not_fit),
        cmocka_unit_test(test_files_are_read_by_their_new_numbers),
        cmocka_unit_test(test_a_file_that_is_gone_is_read_no_more),
    };

    return cmocka_run_group_tests(tests, issue_all, free_all);
}
