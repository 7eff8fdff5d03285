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
    if (head.type < WIRE_RUN || head.type > WIRE_LOG_LEVEL)
        return broken(err, "unknown type", head.type);
    bool is_run = head.type == WIRE_RUN;
    if (!is_run && head.type != WIRE_CLEAR && message.n > sizeof(head))
        return broken(err, "bytes behind its end", message.n);
    if (fd_count != (is_run ? WIRE_RUN_FDS : 0))
        return broken(err, "wrong number of descriptors", fd_count);
    if (head.program >= (is_run ? RUN_PROGRAM_CHECK : 1) || head.unused != 0)
        return broken(err, "unknown program", head.program);
    if (head.type >= WIRE_RELOAD && head.type <= WIRE_DROP && head.number != 0)
        return broken(err, "a number that is not used", head.number);
    *req = (struct wire_request){
        .type = (enum wire_request_type)head.type,
        .number = head.number,
        .program = (enum run_program)head.program,
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

/* Takes n bytes; false: the input has fewer. */
static bool take(struct wire_members *m, wire_read_cb *read, void *arg, void *out, size_t n)
{
    if (m->size - m->at < n || !read(arg, m->at, out, n))
        return false;
    m->at += n;
    return true;
}

enum wire_next wire_members_next(struct wire_members *m, wire_read_cb *read, void *arg,
                                 struct wire_member *head,
                                 char name[PATH_TEMPLATE_COMPONENT_MAX + 1])
{
    if (m->at == m->size)
        return WIRE_END;
    if (m->count == WIRE_FILES_MAX || !take(m, read, arg, head, sizeof(*head)) ||
        head->length > PATH_TEMPLATE_COMPONENT_MAX || head->goes > 1 ||
        !take(m, read, arg, name, head->length))
        return WIRE_BAD;
    name[head->length] = '\0';
    bool has_removal = m->writes < m->count;
    bool fits = head->goes == 1 ? head->size == 0 : !has_removal && head->size <= m->size - m->at;
    if (!fits || strlen(name) != head->length)
        return WIRE_BAD;
    m->count++;
    m->writes += head->goes == 0;
    m->at += head->size;
    return WIRE_NEXT;
}

bool wire_strays_next(struct str *input, struct wire_stray *head,
                      char path[PATH_TEMPLATE_PATH_MAX + 1])
{
    if (input->n < sizeof(*head))
        return false;
    memcpy(head, input->p, sizeof(*head));
    if (head->length > PATH_TEMPLATE_PATH_MAX || input->n - sizeof(*head) < head->length)
        return false;
    memcpy(path, input->p + sizeof(*head), head->length);
    path[head->length] = '\0';
    *input =
        str_of(input->p + sizeof(*head) + head->length, input->n - sizeof(*head) - head->length);
    return true;
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

/* A result belongs to a program that ended well, and a step to one that was refused. */
static bool is_stage(const struct run_end *end)
{
    if (end->kind == RUN_END_REFUSED)
        return end->stage > RUN_STAGE_REMOVED && end->stage < RUN_STAGES;
    return end->stage == RUN_STAGE_NONE || (run_end_file(end) != NULL && run_end_is_good(end));
}

/* The parts of a reply must fit together: a process that is left has a pid, and only such a process
 * has a name. */
static enum err_kind check_end(const struct run_end *end, struct err *err)
{
    bool is_left = end->left > 0;

    if (end->program > RUN_PROGRAM_CHECK)
        return broken_reply(err, "bad program", end->program);
    if (end->kind > RUN_END_REFUSED || end->cut != RUN_CUT_NONE)
        return broken_reply(err, "bad end of a run", end->kind);
    if (!is_stage(end))
        return broken_reply(err, "bad stage of a run", end->stage);
    if (end->killed > 1)
        return broken_reply(err, "bad mark of a kill", end->killed);
    if (end->limit > RUN_LIMIT_PIDS)
        return broken_reply(err, "bad limit of a run", end->limit);
    if (!is_name(end->left_comm, sizeof(end->left_comm)) || (end->left_pid > 0) != is_left ||
        end->left_pid < 0 || (end->left_comm[0] != '\0' && !is_left))
        return broken_reply(err, "bad processes that are left", end->left);
    return ERR_OK;
}

enum err_kind wire_reply_decode(struct str message, struct wire_reply *reply, struct err *err)
{
    if (message.n != sizeof(*reply))
        return broken_reply(err, "bad length", message.n);
    memcpy(reply, message.p, sizeof(*reply));
    if (reply->type < WIRE_EXITED || reply->type > WIRE_RELOADED)
        return broken_reply(err, "unknown type", reply->type);
    if (reply->type == WIRE_CHANGED && reply->id > UINT32_MAX)
        return broken_reply(err, "bad number of a file", (size_t)reply->id);
    if (reply->type != WIRE_CHANGED && reply->generation != 0)
        return broken_reply(err, "bad generation", (size_t)reply->generation);
    if (reply->type == WIRE_RELOADED &&
        (reply->error < WIRE_RELOADED_READY || reply->error > WIRE_RELOADED_DROPPED))
        return broken_reply(err, "bad result of a reload", (size_t)reply->error);
    return reply->type == WIRE_EXITED ? check_end(&reply->end, err) : ERR_OK;
}
