/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wire.h"

#include <string.h>

static const char our_prefix[] = "INFORMERD_";

static enum err_kind broken(struct err *err, const char *what, size_t n)
{
    return err_set(err, ERR_PROTOCOL, 0, "message from main: %s (%zu)", what, n);
}

enum err_kind wire_request_decode(struct str message, size_t fd_count, struct wire_request *req,
                                  struct err *err)
{
    struct wire_request_image head;

    if (message.n < sizeof(head) || message.n > WIRE_REQUEST_MAX)
        return broken(err, "bad length", message.n);
    memcpy(&head, message.p, sizeof(head));
    if (head.type < WIRE_RUN || head.type > WIRE_OPEN)
        return broken(err, "unknown type", head.type);
    bool is_run = head.type == WIRE_RUN;
    if (!is_run && message.n > sizeof(head))
        return broken(err, "bytes behind its end", message.n);
    if (fd_count != (is_run ? WIRE_RUN_FDS : 0))
        return broken(err, "wrong number of descriptors", fd_count);
    *req = (struct wire_request){
        .type = (enum wire_request_type)head.type,
        .number = head.number,
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
    };

    memcpy(image.stage, reply->stage, sizeof(image.stage));
    image.stage[sizeof(image.stage) - 1] = '\0';
    memcpy(out, &image, sizeof(image));
}
