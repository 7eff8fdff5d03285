/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/descent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    PATH_SIZE = 128,
    PAGE = 4096,
    SHORT_READ = 512,
    ENTRY_MAX = 16, /* bytes of an entry in a list of children at most: a number and a space */
    FIRST_CAPACITY = 16,
    DECIMAL = 10
};

/* ---- Sets */

static void add_pid(struct descent_pids *pids, pid_t pid)
{
    if (pids->count == pids->capacity) {
        pids->capacity = pids->capacity > 0 ? pids->capacity * 2 : FIRST_CAPACITY;
        pids->all = mem_realloc(pids->all, pids->capacity * sizeof(*pids->all));
    }
    pids->all[pids->count++] = pid;
}

/* The start time counts, too: the number may have become another process' since the first of the
 * two was added. */
static bool contains(const struct descent_set *set, const struct process *p)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->all[i].pid == p->pid && set->all[i].start == p->start)
            return true;
    return false;
}

static void append(struct descent_set *set, const struct process *p)
{
    if (set->count == set->capacity) {
        set->capacity = set->capacity > 0 ? set->capacity * 2 : FIRST_CAPACITY;
        set->all = mem_realloc(set->all, set->capacity * sizeof(*set->all));
    }
    set->all[set->count++] = *p;
}

void descent_add(struct descent_set *set, const struct process *p)
{
    if (set->count < DESCENT_SET_MAX && !contains(set, p))
        append(set, p);
}

void descent_set_free(struct descent_set *set)
{
    free(set->all);
    *set = (struct descent_set){0};
}

void descent_pids_free(struct descent_pids *pids)
{
    free(pids->all);
    *pids = (struct descent_pids){0};
}

/* ---- The kernel's lists */

/* The list of children that one thread has forked. -1 if the process is gone, or if the kernel has
 * no lists. */
static int open_list(const char *proc, pid_t pid, pid_t thread)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "%s/%d/task/%d/children", proc, (int)pid, (int)thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The kernel fills the buffer that it is given, a page at most, with as many whole entries as fit:
 * so if there was room for another entry, the list is over. The first read is short, because most
 * lists are, and because each page of memory that the helper writes to after a fork is copied for
 * that program. */
static void read_list(int fd, struct buf *text)
{
    size_t size = SHORT_READ;
    ssize_t n;

    buf_clear(text);
    while ((n = pread(fd, buf_reserve(text, size), size, (off_t)text->len)) > 0) {
        text->len += (size_t)n;
        if ((size_t)n < size - ENTRY_MAX)
            break;
        size = PAGE;
    }
}

static void parse_list(struct buf *text, struct descent_pids *out)
{
    const char *s = buf_cstr(text);
    char *end;

    for (long pid; (pid = strtol(s, &end, DECIMAL)) > 0; s = end)
        add_pid(out, (pid_t)pid);
}

/* The next entry of a folder in /proc whose name is a number; 0 = there are no more. */
static pid_t next_number(DIR *dir)
{
    const struct dirent *entry;

    /* Only one thread reads this stream. */
    while ((entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        long n = strtol(entry->d_name, NULL, DECIMAL);

        if (n > 0)
            return (pid_t)n;
    }
    return 0;
}

/* Adds the children of a process. The kernel has a list for each of its threads. */
static void list_children(const char *proc, pid_t pid, struct descent_pids *out)
{
    char path[PATH_SIZE];
    struct buf text = {0};
    pid_t thread;

    snprintf(path, sizeof(path), "%s/%d/task", proc, (int)pid);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    while ((thread = next_number(dir)) > 0) {
        int fd = open_list(proc, pid, thread);

        if (fd < 0)
            continue;
        read_list(fd, &text);
        parse_list(&text, out);
        close(fd);
    }
    closedir(dir);
    buf_free(&text);
}

/* ---- Without the kernel's lists */

/* Appends all processes of the system; not with descent_add(), whose search is slow with thousands
 * of processes, and whose limit would leave some out. */
static void take_census(const char *proc, struct descent_set *out)
{
    DIR *dir = opendir(proc);
    struct process p;
    pid_t pid;

    if (dir == NULL)
        return;
    while ((pid = next_number(dir)) > 0) {
        enum process_state state = process_look(proc, pid, &p);

        if (state == PROCESS_ALIVE || state == PROCESS_DEAD)
            append(out, &p);
    }
    closedir(dir);
}

/* Adds the children of parent as the census has them. */
static void count_children(const struct descent_set *census, pid_t parent, struct descent_pids *out)
{
    for (size_t i = 0; i < census->count; i++)
        if (census->all[i].parent == parent)
            add_pid(out, census->all[i].pid);
}

/* ---- Children and descendants */

void descent_open(struct descent *d, const char *proc, pid_t self)
{
    *d = (struct descent){.proc = proc, .self = self, .list_fd = open_list(proc, self, self)};
}

void descent_close(struct descent *d)
{
    if (d->list_fd >= 0)
        close(d->list_fd);
    d->list_fd = -1;
    buf_free(&d->listed);
}

void descent_children(struct descent *d, struct descent_pids *out)
{
    struct descent_set census = {0};

    out->count = 0;
    if (d->list_fd >= 0) {
        read_list(d->list_fd, &d->listed);
        parse_list(&d->listed, out);
        return;
    }
    take_census(d->proc, &census);
    count_children(&census, d->self, out);
    descent_set_free(&census);
}

/* Adds the processes of pids that are alive and children of parent. If parent is gone afterwards,
 * its number may have belonged to another process when the list was read: then no child counts. */
static void add_children(const struct descent *d, struct descent_set *set,
                         const struct process *parent, const struct descent_pids *pids)
{
    struct process child;
    size_t before = set->count;

    for (size_t i = 0; i < pids->count; i++)
        if (process_look(d->proc, pids->all[i], &child) == PROCESS_ALIVE &&
            child.parent == parent->pid)
            descent_add(set, &child);
    if (set->count > before && !process_is_alive(d->proc, parent))
        set->count = before;
}

void descent_extend(const struct descent *d, struct descent_set *set)
{
    struct descent_set census = {0};
    struct descent_pids pids = {0};

    if (d->list_fd < 0 && set->count > 0)
        take_census(d->proc, &census);
    /* The set grows during the loop, so the children of added children are found as well. */
    for (size_t i = 0; i < set->count; i++) {
        struct process parent = set->all[i]; /* a copy: the array may move as it grows */

        pids.count = 0;
        if (d->list_fd >= 0)
            list_children(d->proc, parent.pid, &pids);
        else
            count_children(&census, parent.pid, &pids);
        add_children(d, set, &parent, &pids);
    }
    descent_set_free(&census);
    descent_pids_free(&pids);
}
