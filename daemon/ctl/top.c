/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/top.h"

#include <stdlib.h>
#include <time.h>

#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/client.h"
#include "ctl/clock.h"
#include "ctl/terminal.h"
#include "ctl/top_view.h"

/* How often informerd is asked, and how long it may take: keys wait meanwhile. */
enum { EVERY_MS = 1000, TIMEOUT_S = 3 };

#define CTRL_L '\x0c'

/* Asks informerd; *now becomes *before, and the answer *now. After an error nothing has changed. */
static enum err_kind look(const struct args *a, struct top *before, struct top *now,
                          struct err *err)
{
    struct client_reply reply;
    struct top next = {0};

    if (client_ask_within(a->socket, TIMEOUT_S, "GET", "/v1/status", &reply, err) != ERR_OK)
        return err->kind;
    enum err_kind kind =
        reply.status == 200
            ? top_read(&next, buf_str(&reply.body), clock_ms(), now, err)
            : err_set(err, ERR_PROTOCOL, 0, "informerd answered with status %d", reply.status);
    buf_free(&reply.body);
    if (kind != ERR_OK) {
        top_fini(&next);
        return kind;
    }
    top_fini(before);
    *before = *now;
    *now = next;
    return ERR_OK;
}

/* False: the terminal is gone. */
static bool show(struct top *t, struct top_look *how)
{
    struct buf screen = {0};

    how->now_s = (int64_t)time(NULL);
    terminal_size(&how->rows, &how->columns);
    top_put(&screen, t, how);
    bool ok = terminal_show(buf_str(&screen));
    buf_free(&screen);
    return ok;
}

/* Asks informerd each second, and shows the answer after that and after each key. While informerd
 * does not answer, as it is started again, the last figures stay, and the first line says so. Escape is
 * no key: cursor keys and the wheel of a mouse send it in front of their letters. */
static void live(const struct args *a, struct top *before, struct top *now)
{
    struct top_look how = {.sort = TOP_BY_NAME, .colour = terminal_has_colour()};
    uint64_t next_ms = clock_ms() + EVERY_MS;
    struct err err = {0};
    char key = '\0';

    while (key != 'q' && show(now, &how)) {
        key = terminal_key(clock_left_ms(next_ms));
        if (top_take_key(&how, key) || (clock_left_ms(next_ms) > 0 && key != ' ' && key != CTRL_L))
            continue;
        how.trouble = look(a, before, now, &err) != ERR_OK ? err.text : NULL;
        next_ms = clock_ms() + EVERY_MS;
    }
}

/* For a pipe or a file: two answers make one screen. */
static enum err_kind once(const struct args *a, struct buf *out, struct top *before,
                          struct top *now, struct err *err)
{
    const struct top_look how = {.columns = 80, .now_s = (int64_t)time(NULL)};
    const struct timespec pause = {.tv_sec = EVERY_MS / 1000};

    nanosleep(&pause, NULL);
    if (look(a, before, now, err) != ERR_OK)
        return err->kind;
    top_put(out, now, &how);
    return ERR_OK;
}

enum command_exit top_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    enum command_exit code = EXIT_FINE;
    struct top before = {0};
    struct top now = {0};
    struct err err = {0};

    if (look(a, &before, &now, &err) != ERR_OK) {
        code = ask_failed(&err, complaint);
    } else if (terminal_is_there()) {
        terminal_begin();
        live(a, &before, &now);
        terminal_end();
    } else if (once(a, out, &before, &now, &err) != ERR_OK) {
        code = ask_failed(&err, complaint);
    }
    top_fini(&before);
    top_fini(&now);
    return code;
}
