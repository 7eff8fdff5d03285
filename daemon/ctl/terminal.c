/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/visible.h"
#include "ctl/write_out.h"

/* xterm's names for them: alternate screen, cursor. All present terminals know them. */
#define ENTER "\x1b[?1049h\x1b[?25l"
#define LEAVE "\x1b[?25h\x1b[?1049l"

/* The terminal keeps the flags, so no global variable has to. This runs in a signal handler, and calls
 * only functions that are safe there. */
static void set_raw(bool raw)
{
    struct termios t;

    if (tcgetattr(STDIN_FILENO, &t) != 0)
        return;
    if (raw)
        t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    else
        t.c_lflag |= ICANON | ECHO;
    tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

void terminal_put_json(struct buf *out, struct str json)
{
    if (isatty(STDOUT_FILENO))
        visible_put_json(out, json);
    else
        buf_append_str(out, json);
}

static void enter(void)
{
    set_raw(true);
    (void)write_out(str_c(ENTER));
}

/* After Ctrl-Z the terminal is the shell's: to change it then would stop the program (SIGTTOU), and a
 * signal could not end it. front -1: it is not the controlling terminal. */
static void leave(void)
{
    pid_t front = tcgetpgrp(STDIN_FILENO);

    if (front > 0 && front != getpgrp())
        return;
    (void)write_out(str_c(LEAVE));
    set_raw(false);
}

/* The signal ends the program as it always does, behind this. */
static void on_end(int number)
{
    leave();
    signal(number, SIG_DFL);
    raise(number);
}

/* Ctrl-Z: the shell has the terminal until the program goes on. */
static void on_stop(int number)
{
    int saved = errno;

    (void)number;
    leave();
    raise(SIGSTOP);
    enter();
    errno = saved;
}

/* Only to end poll(): the size is read anew for each screen. */
static void on_resize(int number)
{
    (void)number;
}

static void catch (int number, void (*handler)(int number))
{
    struct sigaction a = {.sa_handler = handler};

    sigaction(number, &a, NULL);
}

bool terminal_is_there(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

bool terminal_has_colour(void)
{
    const char *no = getenv("NO_COLOR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *term = getenv("TERM");   /* NOLINT(concurrency-mt-unsafe) */

    return isatty(STDOUT_FILENO) == 1 && (no == NULL || no[0] == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

void terminal_begin(void)
{
    static const int ends[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                               SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGPIPE};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        catch (ends[i], on_end);
    catch (SIGTSTP, on_stop);
    catch (SIGWINCH, on_resize);
    enter();
}

void terminal_end(void)
{
    leave();
}

void terminal_size(size_t *rows, size_t *columns)
{
    struct winsize size = {0};

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *rows = size.ws_row > 0 ? size.ws_row : 24;
    *columns = size.ws_col > 0 ? size.ws_col : 80;
}

size_t terminal_width_of_tables(void)
{
    size_t rows;
    size_t columns;

    if (isatty(STDOUT_FILENO) != 1)
        return 0;
    terminal_size(&rows, &columns);
    return columns;
}

/* Draws over the old screen, line by line, so that nothing flickers. Behind the last line there is no
 * line end, which would scroll. */
bool terminal_show(struct str lines)
{
    struct buf out = {0};

    buf_puts(&out, "\x1b[H");
    for (bool first = true; lines.n > 0; first = false) {
        const char *newline = memchr(lines.p, '\n', lines.n);
        size_t n = newline != NULL ? (size_t)(newline - lines.p) : lines.n;

        buf_puts(&out, first ? "" : "\r\n");
        buf_append(&out, lines.p, n);
        buf_puts(&out, "\x1b[K");
        n += newline != NULL;
        lines = str_of(lines.p + n, lines.n - n);
    }
    buf_puts(&out, "\x1b[J");
    bool ok = write_out(buf_str(&out)) == 0;
    buf_free(&out);
    return ok;
}

char terminal_key(int timeout_ms)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = '\0';

    if (poll(&p, 1, timeout_ms) <= 0)
        return '\0';
    ssize_t n = read(STDIN_FILENO, &key, 1);
    if (n < 0 && errno == EINTR)
        return '\0';
    if (n != 1)
        return 'q';
    return key;
}
