/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/visible.h"

#define SOCKET_PATH "/run/systemd/journal/socket"

static int socket_fd = -1;
/* The process that opened the socket. A process that was forked off may have closed that number, or
 * use it for another file. */
static pid_t socket_owner;

bool log_journal_has_stderr(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device;
    uintmax_t inode;
    struct stat st;
    char *end;

    if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
        return false;
    device = strtoumax(stream, &end, 10);
    if (*end != ':')
        return false;
    inode = strtoumax(end + 1, &end, 10);
    return *end == '\0' && st.st_dev == (dev_t)device && st.st_ino == (ino_t)inode;
}

/* A value with a newline would begin a field of its own, so it is written with its length, in 64 bits
 * of little endian. */
static void put_field(struct buf *out, const char *name, struct str value)
{
    unsigned char length[8];

    if (memchr(value.p, '\n', value.n) == NULL) {
        buf_printf(out, "%s=", name);
    } else {
        buf_printf(out, "%s\n", name);
        for (size_t i = 0; i < sizeof(length); i++)
            length[i] = (unsigned char)((uint64_t)value.n >> (8 * i));
        buf_append(out, length, sizeof(length));
    }
    buf_append_str(out, value);
    buf_putc(out, '\n');
}

/* A name is shown as in the message: people read fields, too (journalctl -o verbose). */
static void put_kv(struct buf *out, const char *name, const struct kv *f)
{
    struct buf shown = {0};

    if (f->type == KV_TYPE_STR && f->s.n > 0) {
        visible_put(&shown, f->s);
        put_field(out, name, buf_str(&shown));
        buf_free(&shown);
    } else if (f->type == KV_TYPE_U64) {
        buf_printf(out, "%s=%" PRIu64 "\n", name, f->u);
    }
}

void log_journal_put(struct buf *out, int priority, struct str message, const struct kv *fields)
{
    static const struct {
        const char *key;
        const char *name;
    } selectable[] = {
        {"cluster", "CLUSTER"},
        {"watch",   "WATCH"  },
        {"view",    "VIEW"   },
        {"hook",    "HOOK"   },
        {"run",     "RUN"    },
        {"key",     "KEY"    }
    };

    put_field(out, "MESSAGE", message);
    buf_printf(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=informerd\n", priority);
    for (const struct kv *f = fields; f->type != KV_TYPE_END; f++)
        for (size_t i = 0; i < ARRAY_LEN(selectable); i++)
            if (f->type != KV_TYPE_NONE && strcmp(f->key, selectable[i].key) == 0)
                put_kv(out, selectable[i].name, f);
}

int log_journal_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET_PATH};

    if (socket_fd >= 0 && socket_owner == getpid())
        return socket_fd;
    socket_owner = getpid();
    socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd >= 0 &&
        connect(socket_fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(socket_fd);
        socket_fd = -1;
    }
    return socket_fd;
}

enum log_journal_sent log_journal_send(const struct buf *entry)
{
    int fd = log_journal_socket();
    ssize_t n;

    if (fd < 0)
        return LOG_JOURNAL_FAILED;
    do
        n = send(fd, entry->data, entry->len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return LOG_JOURNAL_SENT;
    if (errno == EAGAIN)
        return LOG_JOURNAL_FULL;
    if (errno != EMSGSIZE) {
        close(fd);
        socket_fd = -1;
    }
    return LOG_JOURNAL_FAILED;
}
