/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/file_watch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    QUIET_MS = 200,  /* a burst is over when no event came for so long */
    BURST_MS = 1000, /* a burst is also over when it has lasted for so long */
    REST_MS = 1000,  /* from one time that a file is told to the next */
    READ_MS = 100,   /* from one reading of events to the next */
    LINKS_MAX = 40,  /* Linux follows as many */
};

/* Not IN_OPEN, IN_ACCESS and IN_CLOSE_NOWRITE: reading the file must not count as a change. */
#define MOVED (IN_DELETE_SELF | IN_MOVE_SELF)
#define ANY   (MOVED | IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB)

/* A file waits for a folder. */
struct interest {
    int folder; /* the watch descriptor of inotify */
    uint32_t file;
    uint32_t mask; /* the events that count */
};

/* One file, and the burst of events that is to be told. */
struct watched {
    const char *path;
    uint64_t due_ms;    /* when the burst is told; UINT64_MAX = there is none */
    uint64_t latest_ms; /* the end of the burst */
    uint64_t rest_ms;   /* not to be told before */
};

struct file_watch {
    int fd;           /* of inotify; -1 = the system refused it */
    uint64_t read_ms; /* events are not read before */
    bool has_warned;
    struct watched *files;
    size_t count;
    struct interest *interests; /* in no order */
    size_t interest_count;
    size_t interest_capacity;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- The folders of a file */

/* Once, as one file after the other meets the same limit. */
static void warn(struct file_watch *w, const char *path, int error)
{
    if (w->has_warned)
        return;
    w->has_warned = true;
    log_warn("helper: credential files cannot be watched: changes are seen only when the files are "
             "read again now and then",
             KV_STR("path", path), KV_STR("err", strerror(error)),
             KV_STR("remedy", error == ENOSPC ? "raise fs.inotify.max_user_watches (sysctl)"
                              : error == EMFILE
                                  ? "raise fs.inotify.max_user_instances (sysctl)"
                                  : "informerd must be able to read the folders of the files"));
}

static void add_interest(struct file_watch *w, struct interest interest)
{
    if (w->interest_count == w->interest_capacity) {
        w->interest_capacity = 2 * w->interest_capacity + 8;
        w->interests = mem_realloc(w->interests, w->interest_capacity * sizeof(*w->interests));
    }
    w->interests[w->interest_count++] = interest;
}

/* Has the events of a folder reported for a file. A folder that is gone again is no error: an event
 * of a folder above it is under way. */
static void want(struct file_watch *w, uint32_t file, const char *folder, uint32_t mask)
{
    const char *path = folder[0] != '\0' ? folder : "/";
    int wd = inotify_add_watch(w->fd, path, mask | IN_MASK_ADD | IN_ONLYDIR);

    if (wd >= 0) {
        add_interest(w, (struct interest){wd, file, mask});
    } else if (errno != ENOENT && errno != ENOTDIR && (mask & IN_CREATE) != 0) {
        warn(w, path, errno);
    }
}

/* Does any file wait for this folder? */
static bool is_wanted(const struct file_watch *w, int folder)
{
    for (size_t i = 0; i < w->interest_count; i++)
        if (w->interests[i].folder == folder)
            return true;
    return false;
}

/* A path on its way from the root folder to its end. */
struct way {
    struct buf done; /* the path so far: no link in it, no slash at its end; "" = the root folder */
    struct buf rest; /* the rest of the path, from done on */
    unsigned links;  /* followed so far */
};

/* Takes the next name off rest. "" = the path is at its end. */
static void take_name(struct way *way, char name[NAME_MAX + 1])
{
    const char *rest = buf_cstr(&way->rest);
    size_t skip = strspn(rest, "/");
    size_t n = strcspn(rest + skip, "/");

    /* A longer name cannot exist. */
    size_t kept = n <= NAME_MAX ? n : NAME_MAX;
    memcpy(name, rest + skip, kept);
    name[kept] = '\0';
    buf_consume(&way->rest, skip + n);
}

static void go_up(struct way *way)
{
    const char *path = buf_cstr(&way->done);
    const char *slash = strrchr(path, '/');

    way->done.len = slash != NULL ? (size_t)(slash - path) : 0;
}

static void follow(struct way *way, const char *target)
{
    struct buf rest = {0};

    buf_printf(&rest, "%s/%s", target, buf_cstr(&way->rest));
    buf_free(&way->rest);
    way->rest = rest;
    if (target[0] == '/')
        buf_clear(&way->done);
}

/* Where the way goes on at a name. */
enum step { STEP_FOLDER, STEP_LINK, STEP_END /* a file, or nothing */ };

/* Looks at a path; target gets what a link says. */
static enum step look(const char *path, char target[PATH_MAX])
{
    ssize_t n = readlink(path, target, PATH_MAX - 1);
    struct stat st;

    if (n >= 0) {
        target[n] = '\0';
        return STEP_LINK;
    }
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? STEP_FOLDER : STEP_END;
}

/* Goes on by one name; false at the end of the way. A folder is watched before the look that
 * counts: a change after the look is an event. */
static bool step(struct file_watch *w, uint32_t file, struct way *way, const char *name)
{
    char target[PATH_MAX];
    char *path = mem_printf("%s/%s", buf_cstr(&way->done), name);
    enum step found = look(path, target);

    if (found != STEP_FOLDER) {
        want(w, file, buf_cstr(&way->done), ANY);
        found = look(path, target);
    }
    if (found == STEP_FOLDER) {
        buf_clear(&way->done);
        buf_puts(&way->done, path);
        want(w, file, path, MOVED);
    } else if (found == STEP_LINK) {
        follow(way, target);
    }
    free(path);
    return found == STEP_FOLDER || (found == STEP_LINK && ++way->links <= LINKS_MAX);
}

static void find_folders(struct file_watch *w, uint32_t file)
{
    struct way way = {0};
    char name[NAME_MAX + 1];
    bool goes_on = true;

    buf_puts(&way.rest, w->files[file].path);
    while (goes_on) {
        take_name(&way, name);
        if (name[0] == '\0')
            break;
        if (strcmp(name, "..") == 0)
            go_up(&way);
        else if (strcmp(name, ".") != 0)
            goes_on = step(w, file, &way, name);
    }
    buf_free(&way.done);
    buf_free(&way.rest);
}

/* Takes the interests of a file off the list; returns how many, and their folders in *folders, which
 * the caller frees. */
static size_t take_interests(struct file_watch *w, uint32_t file, int **folders)
{
    size_t n = 0;

    *folders = mem_array(w->interest_count + 1, sizeof(**folders));
    for (size_t i = w->interest_count; i-- > 0;) {
        if (w->interests[i].file != file)
            continue;
        (*folders)[n++] = w->interests[i].folder;
        w->interests[i] = w->interests[--w->interest_count];
    }
    return n;
}

/* A folder that is on the way as before stays watched all the time. */
void file_watch_add(struct file_watch *w, uint32_t number)
{
    int *before;

    if (w->fd < 0)
        return;
    size_t n = take_interests(w, number, &before);
    find_folders(w, number);
    for (size_t i = 0; i < n; i++)
        if (!is_wanted(w, before[i]))
            inotify_rm_watch(w->fd, before[i]); /* fails if the folder is gone, which is fine */
    free(before);
}

/* ---- Events */

/* The burst goes on, or begins. */
static void note_event(struct watched *f, uint64_t now_ms)
{
    if (f->due_ms == UINT64_MAX)
        f->latest_ms = now_ms + BURST_MS;
    f->due_ms = most(least(now_ms + QUIET_MS, f->latest_ms), f->rest_ms);
}

static void note(struct file_watch *w, const struct inotify_event *e, uint64_t now_ms)
{
    /* The kernel has dropped events. */
    if ((e->mask & IN_Q_OVERFLOW) != 0)
        for (size_t i = 0; i < w->count; i++)
            note_event(&w->files[i], now_ms);
    for (size_t i = 0; i < w->interest_count; i++) {
        const struct interest *in = &w->interests[i];

        /* IN_UNMOUNT comes whatever the mask is. */
        if (in->folder == e->wd && (e->mask & (in->mask | IN_UNMOUNT)) != 0)
            note_event(&w->files[in->file], now_ms);
    }
}

void file_watch_read(struct file_watch *w, uint64_t now_ms)
{
    union {
        struct inotify_event align;
        char bytes[16 * 1024];
    } events;
    ssize_t n = read(w->fd, &events, sizeof(events));

    w->read_ms = now_ms + READ_MS;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const struct inotify_event *)(events.bytes + at);

        note(w, e, now_ms);
        at += (ssize_t)(sizeof(*e) + e->len);
    }
}

int file_watch_fd(const struct file_watch *w, uint64_t now_ms)
{
    return now_ms >= w->read_ms ? w->fd : -1;
}

int file_watch_wait_ms(const struct file_watch *w, uint64_t now_ms)
{
    uint64_t due_ms = w->read_ms > now_ms ? w->read_ms : UINT64_MAX;

    for (size_t i = 0; i < w->count; i++)
        due_ms = least(due_ms, w->files[i].due_ms);
    if (due_ms == UINT64_MAX)
        return -1;
    return due_ms > now_ms ? (int)(due_ms - now_ms) : 0;
}

bool file_watch_take(struct file_watch *w, uint64_t now_ms, uint32_t *number)
{
    for (size_t i = 0; i < w->count; i++) {
        struct watched *f = &w->files[i];

        if (f->due_ms > now_ms)
            continue;
        f->due_ms = UINT64_MAX;
        f->rest_ms = now_ms + REST_MS;
        *number = (uint32_t)i;
        return true;
    }
    return false;
}

/* ---- Begin and end */

/* Puts files into *w, none of which is watched. */
static void set_files(struct file_watch *w, const struct helper_file *files, size_t count)
{
    w->files = mem_array(count + 1, sizeof(*w->files));
    w->count = count;
    for (size_t i = 0; i < count; i++)
        w->files[i] = (struct watched){.path = files[i].path, .due_ms = UINT64_MAX};
    if (w->fd >= 0 || count == 0)
        return;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0)
        warn(w, files[0].path, errno);
}

struct file_watch *file_watch_create(const struct helper_file *files, size_t count)
{
    struct file_watch *w = MEM_NEW(struct file_watch, .fd = -1);

    set_files(w, files, count);
    return w;
}

static bool has_interest(const struct file_watch *w, struct interest in)
{
    for (size_t i = 0; i < w->interest_count; i++)
        if (w->interests[i].folder == in.folder && w->interests[i].file == in.file &&
            w->interests[i].mask == in.mask)
            return true;
    return false;
}

/* Gives an interest in a file of the old parameters to all new files with the same path, with the burst
 * that is to be told. Two old files with one path have the same interests, so an interest may be there
 * already. */
static void move_interest(struct file_watch *w, const struct watched *before, struct interest in,
                          uint64_t now_ms)
{
    const struct watched *from = &before[in.file];

    for (size_t i = 0; i < w->count; i++) {
        struct watched *to = &w->files[i];

        if (strcmp(to->path, from->path) != 0)
            continue;
        in.file = (uint32_t)i;
        if (!has_interest(w, in))
            add_interest(w, in);
        if (from->due_ms != UINT64_MAX && to->due_ms == UINT64_MAX) {
            to->due_ms = from->due_ms;
            to->latest_ms = from->latest_ms;
        }
        to->rest_ms = most(to->rest_ms, from->rest_ms);
        note_event(to, now_ms);
    }
}

void file_watch_renew(struct file_watch *w, const struct helper_file *files, size_t count,
                      uint64_t now_ms)
{
    struct interest *interests = w->interests;
    struct watched *before = w->files;
    size_t n = w->interest_count;

    w->interests = NULL;
    w->interest_count = w->interest_capacity = 0;
    set_files(w, files, count);
    for (size_t i = 0; i < n; i++)
        move_interest(w, before, interests[i], now_ms);
    for (size_t i = 0; i < n; i++)
        if (w->fd >= 0 && !is_wanted(w, interests[i].folder))
            inotify_rm_watch(w->fd, interests[i].folder);
    free(interests);
    free(before);
}

void file_watch_destroy(struct file_watch **wp)
{
    struct file_watch *w = *wp;

    if (w == NULL)
        return;
    *wp = NULL;
    if (w->fd >= 0)
        close(w->fd);
    free(w->interests);
    free(w->files);
    free(w);
}
