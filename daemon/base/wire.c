/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wire.h"

#include <string.h>

static const char our_prefix[] = "INFORMERD_";

static enum err_kind broken(struct err *err, const char *what, size_t n)
{
    return err_set(err, ERR_PROTOCOL, 0, "message from main: %s (%zu)", what, n);
}

/* The helper has more rights than main, which parses the answers of servers and may have been
 * broken into. So nothing in a message is believed: each length, type and number of descriptors is
 * checked. */
enum err_kind wire_request_decode(struct str message, size_t fd_count, struct wire_request *req,
                                  struct err *err)
{
    struct wire_request_image head;

    if (message.n < sizeof(head) || message.n > WIRE_REQUEST_MAX)
        return broken(err, "bad length", message.n);
    memcpy(&head, message.p, sizeof(head));
    if (head.type < WIRE_RUN || head.type > WIRE_CLEAR)
        return broken(err, "unknown type", head.type);
    bool is_run = head.type == WIRE_RUN;
    if (!is_run && head.type != WIRE_CLEAR && message.n > sizeof(head))
        return broken(err, "bytes behind its end", message.n);
    if (fd_count != (is_run ? WIRE_RUN_FDS : 0))
        return broken(err, "wrong number of descriptors", fd_count);
    if (head.program >= (is_run ? WIRE_PROGRAM_COUNT : 1) || head.unused != 0)
        return broken(err, "unknown program", head.program);
    *req = (struct wire_request){
        .type = (enum wire_request_type)head.type,
        .number = head.number,
        .program = (enum wire_program)head.program,
        .id = head.id,
        .env = str_of(message.p + sizeof(head), message.n - sizeof(head)),
    };
    return ERR_OK;
}

bool wire_env_is_ours(const char *s)
{
    size_t n = sizeof(our_prefix) - 1;

    return strncmp(s, our_prefix, n) == 0 && s[n] != '=' && strchr(s + n, '=') != NULL;
}

/* Each string ends within env, as its last byte is a NUL: strlen() reads no further. */
bool wire_env_check(struct str env, size_t *count)
{
    *count = 0;
    if (env.n > 0 && env.p[env.n - 1] != '\0')
        return false;
    for (size_t at = 0; at < env.n; at += strlen(env.p + at) + 1) {
        if (!wire_env_is_ours(env.p + at))
            return false;
        ++*count;
    }
    return true;
}

void wire_reply_encode(const struct wire_reply *reply, char out[WIRE_REPLY_SIZE])
{
    struct wire_reply_image image = {
        .type = reply->type,
        .how = reply->how,
        .id = reply->id,
        .cpu_us = reply->cpu_us,
        .value = reply->value,
        .left = reply->left,
        .left_pid = reply->left_pid,
        .killed = reply->killed,
    };

    /* One byte less: the NUL at the end stays, whatever reply has. */
    memcpy(image.stage, reply->stage, sizeof(image.stage) - 1);
    memcpy(image.left_comm, reply->left_comm, sizeof(image.left_comm) - 1);
    memcpy(out, &image, sizeof(image));
}

static enum err_kind broken_reply(struct err *err, const char *what, size_t n)
{
    return err_set(err, ERR_PROTOCOL, 0, "reply of the helper: %s (%zu)", what, n);
}

/* Is this printable ASCII with a NUL behind it? It goes into log lines. */
static bool is_name(const char *s, size_t size)
{
    size_t n = 0;

    while (n < size && s[n] >= ' ' && s[n] <= '~')
        n++;
    return n < size && s[n] == '\0';
}

/* The parts of a reply must fit together: a process that is left has a pid, and only such a process
 * has a name. */
static enum err_kind check_end(const struct wire_reply_image *image, struct err *err)
{
    bool is_left = image->left > 0;

    if (image->how > WIRE_HOW_NOT_STARTED)
        return broken_reply(err, "bad end of a run", image->how);
    if (!is_name(image->stage, sizeof(image->stage)))
        return broken_reply(err, "bad stage of a run", image->how);
    if (image->killed > 1)
        return broken_reply(err, "bad mark of a kill", image->killed);
    if (!is_name(image->left_comm, sizeof(image->left_comm)) || (image->left_pid > 0) != is_left ||
        image->left_pid < 0 || (image->left_comm[0] != '\0' && !is_left))
        return broken_reply(err, "bad processes that are left", image->left);
    return ERR_OK;
}

enum err_kind wire_reply_decode(struct str message, struct wire_reply *reply, struct err *err)
{
    struct wire_reply_image image;
    enum err_kind kind = ERR_OK;

    if (message.n != sizeof(image))
        return broken_reply(err, "bad length", message.n);
    memcpy(&image, message.p, sizeof(image));
    if (image.type < WIRE_EXITED || image.type > WIRE_OPENED)
        return broken_reply(err, "unknown type", image.type);
    if (image.type == WIRE_EXITED)
        kind = check_end(&image, err);
    if (kind != ERR_OK)
        return kind;
    *reply = (struct wire_reply){.type = (enum wire_reply_type)image.type, .id = image.id};
    reply->value = image.value;
    /* An OPENED reply has no other members. */
    if (image.type != WIRE_EXITED)
        return ERR_OK;
    reply->how = (enum wire_how)image.how;
    reply->cpu_us = image.cpu_us;
    reply->left = image.left;
    reply->left_pid = image.left_pid;
    reply->killed = image.killed != 0;
    memcpy(reply->stage, image.stage, sizeof(reply->stage));
    memcpy(reply->left_comm, image.left_comm, sizeof(reply->left_comm));
    return ERR_OK;
}
