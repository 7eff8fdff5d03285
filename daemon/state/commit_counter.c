/* SPDX-License-Identifier: Apache-2.0 */
#include "state/commit_counter.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "state/boot_id.h"

/* PLACE is the offset in the lock file: behind the line with the process number, whose length is
 * fixed (say_pid() in state/folder.c). The line here has 58 bytes: boot id, blank, 20 digits,
 * newline. */
enum { PLACE = 13, LINE_MAX = 64 };

struct commit_counter {
    int dir;
    int lock;
    int own; /* the lock file, opened once more for writing; -1 = not open */
    uint64_t commits;
    char boot[BOOT_ID_LEN + 1]; /* empty: unknown, and no number is noted */
};

struct commit_counter *commit_counter_create(int dir, int lock)
{
    struct commit_counter *w = MEM_NEW(struct commit_counter, .dir = dir, .lock = lock, .own = -1);
    char line[LINE_MAX] = "";

    boot_id_read(w->boot);
    if (w->boot[0] == '\0' || pread(lock, line, sizeof(line) - 1, PLACE) <= 0)
        return w;
    /* A number of another boot stays 0 here: a power cut may have taken commits that were
     * counted. */
    if (memcmp(line, w->boot, BOOT_ID_LEN) == 0)
        w->commits = strtoull(line + BOOT_ID_LEN, NULL, 10);
    return w;
}

void commit_counter_destroy(struct commit_counter **w)
{
    if (*w != NULL && (*w)->own >= 0)
        close((*w)->own);
    free(*w);
    *w = NULL;
}

uint64_t commit_counter_commits(const struct commit_counter *w)
{
    return w->commits;
}

static bool put(int fd, const char *line, int n)
{
    return fd >= 0 && pwrite(fd, line, (size_t)n, PLACE) == n;
}

/* The line always has the same length, so nothing of an older line is left behind it. The descriptor
 * from the start usually works. Only if neither descriptor takes the line, the lock file is opened anew:
 * it may have become writable, or have been made anew. The descriptor from the start may be read-only,
 * because the disk was mounted read-only then. */
static void note(struct commit_counter *w)
{
    char line[LINE_MAX];
    int n = snprintf(line, sizeof(line), "%s %-20" PRIu64 "\n", w->boot, w->commits);

    if (w->boot[0] == '\0' || put(w->own, line, n) || put(w->lock, line, n))
        return;
    if (w->own >= 0)
        close(w->own);
    w->own = openat(w->dir, "lock", O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    put(w->own, line, n);
}

void commit_counter_set(struct commit_counter *w, uint64_t commits)
{
    bool is_new = w->commits != commits;

    w->commits = commits;
    if (is_new)
        note(w);
}

void commit_counter_move(struct commit_counter *w, int dir, int lock)
{
    if (w->own >= 0)
        close(w->own);
    w->own = -1;
    w->dir = dir;
    w->lock = lock;
    note(w);
}
