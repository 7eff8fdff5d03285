/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log_journal.h"
#include "base/log_levels.h"
#include "base/visible.h"

const char *const log_level_words[] = {"error", "warn", "info", "debug", "trace", NULL};
const char *const log_format_words[] = {"auto", "text", "json", "journal", NULL};

/* How many ms a line waits for a reader of stderr that has stopped. The log waits once; then it
 * drops lines until there is room. */
#define STUCK_MS 100

/* No more than STUCK_MS of this many ms are spent on waiting, so that a slow reader does not cost
 * more time than one that has stopped. */
#define WINDOW_MS 10000

/* systemd's journal takes LOG_LINES_DEFAULT lines of a service in as many ms, unless the unit says otherwise;
 * ours says LogRateLimitIntervalSec=0, because the journal would drop warnings like any other line. */
#define LIMIT_MS 30000

/* The lines of one level. Each level has its own limit: hooks that print without an end (info) must not
 * hide a warning. */
struct limit {
    uint64_t begun_us; /* when the current LIMIT_MS began; 0 = no line was written yet */
    uint64_t lines;    /* of this time */
    uint64_t left_out;
};

static struct limit
    limits[LOG_LVL_INFO + 1]; /* DEBUG and TRACE have none: a person asked for them */
static uint64_t limit_lines = LOG_LINES_DEFAULT;
static struct log_levels levels = {.all = LOG_LVL_INFO};
static bool is_mute;
static enum log_format line_format = LOG_FMT_AUTO;
static bool is_stuck;      /* a wait was in vain, and nothing has been written since */
static uint64_t window_us; /* when the current window of WINDOW_MS began */
static uint64_t waited_us; /* time spent on waiting in this window */
static bool is_torn;       /* a part of the last line was written, and its end was dropped */
static uint64_t dropped;   /* lines since the last line that told of it */

void log_set_level(enum log_level level)
{
    log_levels_set(&levels, LOG_SUBJECT_ALL, NULL, level);
}

struct log_levels *log_levels(void)
{
    return &levels;
}

void log_set_format(enum log_format format)
{
    line_format = format;
}

void log_set_lines(uint64_t lines)
{
    limit_lines = lines;
}

void log_mute(void)
{
    is_mute = true;
}

static bool is_enabled(enum log_level level, const struct kv *fields)
{
    return !is_mute && log_levels_admit(&levels, level, fields);
}

static enum log_format effective_format(void)
{
    if (line_format != LOG_FMT_AUTO)
        return line_format;
    return log_journal_has_stderr() ? LOG_FMT_JOURNAL : LOG_FMT_TEXT;
}

/* The escapes are those of JSON, in text lines too: so both formats are read alike. */
static void put_quoted(struct buf *out, struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t plain = 0; /* where the bytes begin that are written as they are */

    buf_putc(out, '"');
    for (size_t i = 0; i < s.n;) {
        bool quoted = p[i] == '"' || p[i] == '\\';
        size_t len = quoted ? 0 : visible_ascii(p[i]) ? 1 : visible_len(p + i, s.n - i);

        i += len;
        if (len > 0)
            continue;
        buf_append(out, p + plain, i - plain);
        plain = i;
        if (quoted) {
            buf_putc(out, '\\');
            i++; /* written with the bytes behind it */
        } else {
            i += visible_escape(out, p + i, s.n - i);
            plain = i;
        }
    }
    if (s.n > plain)
        buf_append(out, p + plain, s.n - plain);
    buf_putc(out, '"');
}

static void put_value(struct buf *out, const struct kv *f)
{
    switch (f->type) {
    case KV_TYPE_STR:
        put_quoted(out, f->s);
        break;
    case KV_TYPE_I64:
        buf_printf(out, "%" PRId64, f->i);
        break;
    case KV_TYPE_U64:
        buf_printf(out, "%" PRIu64, f->u);
        break;
    case KV_TYPE_MS:
        buf_printf(out, "%" PRIu64, f->u);
        break;
    case KV_TYPE_ERR:
        put_quoted(out, str_c(f->err->text));
        break;
    case KV_TYPE_END:
    case KV_TYPE_NONE:
        break;
    }
}

static void put_time(struct buf *out)
{
    struct timespec ts;
    struct tm tm;
    char text[32];

    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    buf_printf(out, "%s.%03ldZ", text, ts.tv_nsec / 1000000);
}

/* The message and all its fields. */
static void put_message(struct buf *out, const char *msg, const struct kv *f)
{
    buf_puts(out, msg);
    for (; f->type != KV_TYPE_END; f++) {
        if (f->type == KV_TYPE_NONE)
            continue;
        buf_printf(out, " %s=", f->key);
        put_value(out, f);
        if (f->type == KV_TYPE_MS)
            buf_puts(out, "ms");
        if (f->type == KV_TYPE_ERR)
            buf_printf(out, " kind=%s", err_kind_name(f->err->kind));
    }
}

static void put_text(struct buf *out, enum log_level level, const char *msg, const struct kv *f)
{
    put_time(out);
    buf_printf(out, " %-5s ", log_level_words[level]);
    put_message(out, msg, f);
}

static void put_json(struct buf *out, enum log_level level, const char *msg, const struct kv *f)
{
    buf_puts(out, "{\"time\":\"");
    put_time(out);
    buf_printf(out, "\",\"level\":\"%s\",\"msg\":", log_level_words[level]);
    put_quoted(out, str_c(msg));
    for (; f->type != KV_TYPE_END; f++) {
        if (f->type == KV_TYPE_NONE)
            continue;
        buf_printf(out, ",\"%s%s\":", f->key, f->type == KV_TYPE_MS ? "_ms" : "");
        put_value(out, f);
        if (f->type == KV_TYPE_ERR)
            buf_printf(out, ",\"kind\":\"%s\"", err_kind_name(f->err->kind));
    }
    buf_putc(out, '}');
}

static uint64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* How long this line may wait, in ms: the rest of STUCK_MS of this window; not at all if an earlier
 * wait was in vain. */
static int patience_ms(uint64_t now)
{
    if (now - window_us >= (uint64_t)WINDOW_MS * 1000) {
        window_us = now;
        waited_us = 0;
    }
    return is_stuck || waited_us / 1000 >= STUCK_MS ? 0 : STUCK_MS - (int)(waited_us / 1000);
}

/* Can a write to this descriptor go on at once? Waits for that as long as patience_ms() allows. */
static bool has_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    if (poll(&p, 1, 0) != 0) {
        is_stuck = false;
        return true;
    }
    uint64_t since = now_us();
    int patience = patience_ms(since);
    if (patience == 0)
        return false;
    is_stuck = poll(&p, 1, patience) == 0;
    waited_us += now_us() - since;
    return !is_stuck;
}

/* Writes a whole line to stderr. A pipe that poll() calls writable takes PIPE_BUF bytes without blocking,
 * and in one piece. So a line of that length never blocks the daemon, and does not mix with lines of the
 * helper. */
static void write_line(const struct buf *out)
{
    size_t done = 0;

    while (done < out->len && has_room(STDERR_FILENO)) {
        size_t left = out->len - done;
        ssize_t n = write(STDERR_FILENO, out->data + done, left < PIPE_BUF ? left : PIPE_BUF);

        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            break; /* stderr is broken: there is no place to report that */
    }
    is_torn = done > 0 ? done < out->len : is_torn;
    dropped += done < out->len;
}

/* Ends the line and writes it, below the torn line if there is one. */
static void write_ended(struct buf *line)
{
    struct buf out = {0};

    if (is_torn)
        buf_putc(&out, '\n');
    buf_append(&out, line->data, line->len);
    buf_putc(&out, '\n');
    write_line(&out);
    buf_free(&out);
}

/* A line for a stderr with "<n>" in front of each line, from which the journal takes the priority. */
static void write_prefixed(int priority, const struct buf *message)
{
    struct buf line = {0};

    buf_printf(&line, "<%d>", priority);
    buf_append(&line, message->data, message->len);
    write_ended(&line);
    buf_free(&line);
}

/* Waits for room in the journal's socket as for room in stderr. False: the journal takes no such
 * entry. */
static bool send_entry(const struct buf *entry)
{
    enum log_journal_sent sent;

    do
        sent = log_journal_send(entry);
    while (sent == LOG_JOURNAL_FULL && has_room(log_journal_socket()));
    dropped += sent == LOG_JOURNAL_FULL;
    return sent != LOG_JOURNAL_FAILED;
}

/* As an entry with fields, if stderr is the journal itself. Its stream takes a line that the socket
 * refuses. */
static void write_to_journal(enum log_level level, const char *msg, const struct kv *fields)
{
    static const int priority[] = {3, 4, 6, 7, 7}; /* of syslog, by enum log_level */
    struct buf message = {0};
    struct buf entry = {0};

    put_message(&message, msg, fields);
    if (log_journal_has_stderr())
        log_journal_put(&entry, priority[level], buf_str(&message), fields);
    if (entry.len == 0 || !send_entry(&entry))
        write_prefixed(priority[level], &message);
    buf_free(&message);
    buf_free(&entry);
}

/* Counts a line of this level. False: there were too many, and it is to be left out. */
static bool is_within_limit(enum log_level level)
{
    struct limit *l = &limits[level];
    uint64_t now = now_us();

    if (l->begun_us == 0 || now - l->begun_us >= (uint64_t)LIMIT_MS * 1000) {
        uint64_t lines = l->left_out;

        *l = (struct limit){.begun_us = now};
        if (lines > 0)
            log_warn("log lines were left out: there were too many of this level",
                     KV_STR("lines_of", log_level_words[level]), KV_U64("lines", lines),
                     KV_U64("limit", limit_lines), KV_MS("in", LIMIT_MS));
    }
    bool fits = l->lines++ < limit_lines;
    l->left_out += !fits;
    return fits;
}

/* Where lines of this format go. */
static int descriptor_of(enum log_format format)
{
    int fd = format == LOG_FMT_JOURNAL && log_journal_has_stderr() ? log_journal_socket() : -1;

    return fd >= 0 ? fd : STDERR_FILENO;
}

/* Tells of dropped lines before the next line, as soon as one gets through. dropped is 0 by then,
 * so that log_warn() does not come here again. */
static void tell_dropped(enum log_format format)
{
    uint64_t lines = dropped;

    if (lines == 0 || !has_room(descriptor_of(format)))
        return;
    dropped = 0;
    log_warn("log lines were dropped: the reader of the log was too slow", KV_U64("lines", lines));
    if (dropped > 0)
        dropped = lines;
}

void log_emit(enum log_level level, const char *msg, const struct kv *fields)
{
    struct buf out = {0};
    /* Callers log errno and use it after that. */
    int saved = errno;

    if (!is_enabled(level, fields) || (level <= LOG_LVL_INFO && !is_within_limit(level)))
        return;
    enum log_format format = effective_format();
    tell_dropped(format);
    if (format == LOG_FMT_JOURNAL) {
        write_to_journal(level, msg, fields);
    } else {
        if (format == LOG_FMT_JSON)
            put_json(&out, level, msg, fields);
        else
            put_text(&out, level, msg, fields);
        write_ended(&out);
        buf_free(&out);
    }
    errno = saved;
}

enum log_level log_failure_level(struct err *logged, const struct err *err)
{
    bool same = logged->kind != ERR_OK && strcmp(logged->text, err->text) == 0;

    *logged = *err;
    return same ? LOG_LVL_DEBUG : LOG_LVL_WARN;
}
