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

/* In the lock file, behind the line with the number of the process. */
enum { PLACE = 13, LINE_MAX = 64 };

struct commit_counter {
    int dir;
    int lock;
    int own; /* the lock file once more, for writing; -1 = not open */
    uint64_t commits;
    char boot[BOOT_ID_LEN + 1]; /* empty: not known, and nothing is noted */
};

struct commit_counter *commit_counter_create(int dir, int lock)
{
    struct commit_counter *w = MEM_NEW(struct commit_counter, .dir = dir, .lock = lock, .own = -1);
    char line[LINE_MAX] = "";

    boot_id_read(w->boot);
    if (w->boot[0] == '\0' || pread(lock, line, sizeof(line) - 1, PLACE) <= 0)
        return w;
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

/* What was read-only at the start may not be so any more. */
static void reopen(struct commit_counter *w)
{
    if (w->own >= 0)
        close(w->own);
    w->own = openat(w->dir, "lock", O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static bool put(int fd, const char *line, int n)
{
    return fd >= 0 && pwrite(fd, line, (size_t)n, PLACE) == n;
}

/* Always of the same length, so that nothing is left of what was there. */
void commit_counter_set(struct commit_counter *w, uint64_t commits)
{
    char line[LINE_MAX];
    int n = snprintf(line, sizeof(line), "%s %-20" PRIu64 "\n", w->boot, commits);

    bool is_new = w->boot[0] != '\0' && w->commits != commits;
    w->commits = commits;
    if (!is_new || put(w->own, line, n) || put(w->lock, line, n))
        return;
    reopen(w);
    put(w->own, line, n);
}
