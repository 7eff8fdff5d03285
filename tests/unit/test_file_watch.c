/* SPDX-License-Identifier: Apache-2.0 */
/* Files that change as the kubelet, an editor or an administrator changes them: real events of
 * inotify in virtual time. */
#include "helper/file_watch.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "campaign.h"
#include "temp_folder.h"

enum { QUIET_MS = 200, SECOND_MS = 1000, READ_MS = 100, FILES_MAX = 4, NOBODY = 65534 };

struct rig {
    struct file_watch *w;
    struct helper_file files[FILES_MAX];
    char *paths[FILES_MAX];
    uint32_t count;
    uint64_t now_ms;
};

/* Watches these files of the test's folder; the list ends with NULL. */
static struct rig watch_files(const char *const *names)
{
    struct rig r = {.now_ms = SECOND_MS};

    for (; names[r.count] != NULL; r.count++) {
        r.paths[r.count] = names[r.count][0] == '/'
                               ? mem_strdup(names[r.count])
                               : mem_printf("%s/%s", temp_folder_path(), names[r.count]);
        r.files[r.count].path = r.paths[r.count];
    }
    r.w = file_watch_create(r.files, r.count);
    for (uint32_t i = 0; i < r.count; i++)
        file_watch_add(r.w, i);
    return r;
}

#define WATCH(...) watch_files((const char *const[]){__VA_ARGS__, NULL})

static void end(struct rig *r)
{
    file_watch_destroy(&r->w);
    for (uint32_t i = 0; i < r->count; i++)
        free(r->paths[i]);
}

/* Reads the events of the kernel, as the helper's loop does. */
static bool read_events(struct rig *r)
{
    struct pollfd p = {.fd = file_watch_fd(r->w, r->now_ms), .events = POLLIN};

    if (poll(&p, 1, 0) != 1)
        return false;
    file_watch_read(r->w, r->now_ms);
    return true;
}

/* The set of files that are told now, as bits. Each one is then read, and watched anew. */
static unsigned take(struct rig *r)
{
    unsigned told = 0;
    uint32_t number;

    while (file_watch_take(r->w, r->now_ms, &number)) {
        assert_int_equal(told & (1U << number), 0);
        told |= 1U << number;
        file_watch_add(r->w, number);
    }
    return told;
}

/* Long after everything before, which was told: the files that are told now, 200 ms after their
 * events. */
static unsigned told(struct rig *r)
{
    bool has_events = read_events(r);
    int wait_ms = file_watch_wait_ms(r->w, r->now_ms);

    assert_int_equal(take(r), 0);
    if (has_events)
        assert_in_range(wait_ms, READ_MS, QUIET_MS);
    r->now_ms += QUIET_MS;
    unsigned files = take(r);
    r->now_ms += SECOND_MS;
    while (read_events(r)) /* the kernel says which folders are not watched any more */
        r->now_ms += READ_MS;
    assert_int_equal(file_watch_wait_ms(r->w, r->now_ms + READ_MS), -1);
    r->now_ms += READ_MS;
    return files;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* An event without a write to the disk. */
static void touch(const char *path)
{
    assert_int_equal(chmod(path, 0644), 0);
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(from, to), 0);
}

static void make_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

/* Sets a link in one step. */
static void point(const char *link, const char *target)
{
    assert_int_equal(symlink(target, "new-link"), 0);
    move("new-link", link);
}

static void make_token(const char *folder, const char *text)
{
    char *path = mem_printf("%s/token", folder);

    make_folder(folder);
    put(path, text);
    free(path);
}

/* ---- Changes that count */

static void test_a_file_that_is_written_replaced_removed_and_back(void **state)
{
    (void)state;
    put("token", "1");
    struct rig r = WATCH("token");
    assert_int_equal(told(&r), 0);
    put("token", "2");
    assert_int_equal(told(&r), 1);
    put("token.new", "3");
    move("token.new", "token");
    assert_int_equal(told(&r), 1);
    assert_int_equal(chmod("token", 0600), 0);
    assert_int_equal(told(&r), 1);
    assert_int_equal(unlink("token"), 0);
    assert_int_equal(told(&r), 1);
    put("token", "4");
    assert_int_equal(told(&r), 1);
    make_folder("away");
    assert_int_equal(told(&r), 1);
    move("token", "away/token");
    assert_int_equal(told(&r), 1);
    end(&r);
}

/* A writer that keeps the file open. */
static void test_a_file_that_is_not_closed(void **state)
{
    (void)state;
    put("token", "1");
    struct rig r = WATCH("token");
    int fd = open("token", O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "2", 1), 1);
    assert_int_equal(told(&r), 1);
    close(fd);
    end(&r);
}

static void test_reading_is_no_change(void **state)
{
    char text[4];

    (void)state;
    put("token", "1");
    struct rig r = WATCH("token");
    int fd = open("token", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), 1);
    close(fd);
    assert_int_equal(told(&r), 0);
    end(&r);
}

/* /var/lib/kubelet/pki/kubelet-client-current.pem is a link that moves to a new file. */
static void test_the_current_link_of_the_kubelet(void **state)
{
    (void)state;
    make_folder("pki");
    put("pki/client-1.pem", "1");
    point("pki/client-current.pem", "client-1.pem");
    struct rig r = WATCH("pki/client-current.pem");
    put("pki/client-2.pem", "2");
    assert_int_equal(told(&r), 1);
    point("pki/client-current.pem", "client-2.pem");
    assert_int_equal(told(&r), 1);
    end(&r);
}

/* A projected volume: token -> ..data/token, ..data -> ..2024. */
static void test_a_projected_volume(void **state)
{
    (void)state;
    make_folder("volume");
    make_token("volume/..2024", "1");
    point("volume/..data", "..2024");
    point("volume/token", "..data/token");
    struct rig r = WATCH("volume/token");
    make_token("volume/..2025", "2");
    assert_int_equal(told(&r), 1); /* a new name in the folder */
    put("volume/..2025/token", "3");
    assert_int_equal(told(&r), 0); /* nobody uses it yet */
    point("volume/..data", "..2025");
    assert_int_equal(told(&r), 1);
    put("volume/..2025/token", "4");
    assert_int_equal(told(&r), 1);
    put("volume/..2024/token", "5");
    assert_int_equal(told(&r), 0); /* nobody uses it any more */
    end(&r);
}

static void test_links_that_lead_to_other_folders(void **state)
{
    char *target = mem_printf("%s/c/token", temp_folder_path());

    (void)state;
    make_folder("a");
    make_folder("b");
    make_token("c", "1");
    make_token("d", "1");
    point("a/token", "../b/link");
    point("b/link", target);
    point("z", "a");
    struct rig r = WATCH("z/../z/.//token");
    put("c/token", "2");
    assert_int_equal(told(&r), 1);
    point("b/link", "../d/token");
    assert_int_equal(told(&r), 1);
    put("c/token", "3");
    assert_int_equal(told(&r), 0);
    put("d/token", "3");
    assert_int_equal(told(&r), 1);
    point("z", "d");
    assert_int_equal(told(&r), 1);
    put("d/token", "4");
    assert_int_equal(told(&r), 1);
    put("b/x", "");
    assert_int_equal(told(&r), 0);
    end(&r);
    free(target);
}

static void test_folders_that_do_not_exist_yet(void **state)
{
    (void)state;
    struct rig r = WATCH("x/y/token");
    make_folder("other");
    assert_int_equal(told(&r), 1); /* in the folder that exists */
    make_folder("x");
    assert_int_equal(told(&r), 1);
    make_folder("x/y");
    assert_int_equal(told(&r), 1);
    put("x/y/token", "1");
    assert_int_equal(told(&r), 1);
    put("x/y/token", "2");
    assert_int_equal(told(&r), 1);
    end(&r);
}

/* All steps in one burst, or before the folders are looked at again. */
static void test_folders_that_are_made_at_once(void **state)
{
    (void)state;
    struct rig r = WATCH("x/y/token");
    make_folder("x");
    make_folder("x/y");
    put("x/y/token", "1");
    assert_int_equal(told(&r), 1);
    put("x/y/token", "2");
    assert_int_equal(told(&r), 1);
    end(&r);
}

static void test_folders_that_are_replaced(void **state)
{
    (void)state;
    make_folder("x");
    make_token("x/y", "1");
    make_folder("new");
    make_token("new/y", "2");
    struct rig r = WATCH("x/y/token");
    move("x", "old"); /* above the folder of the file */
    assert_int_equal(told(&r), 1);
    move("new", "x");
    assert_int_equal(told(&r), 1);
    put("old/y/token", "3");
    assert_int_equal(told(&r), 0);
    put("x/y/token", "3");
    assert_int_equal(told(&r), 1);
    temp_folder_remove("x");
    assert_int_equal(told(&r), 1);
    make_folder("x");
    make_token("x/y", "4");
    assert_int_equal(told(&r), 1);
    put("x/y/token", "5");
    assert_int_equal(told(&r), 1);
    end(&r);
}

/* The folder was empty: its end is the only event. */
static void test_a_folder_that_is_removed_and_back(void **state)
{
    (void)state;
    make_folder("x");
    make_folder("x/y");
    struct rig r = WATCH("x/y/token");
    assert_int_equal(rmdir("x/y"), 0);
    assert_int_equal(told(&r), 1);
    make_folder("x/y");
    assert_int_equal(told(&r), 1);
    put("x/y/token", "1");
    assert_int_equal(told(&r), 1);
    end(&r);
}

static void test_paths_that_lead_nowhere(void **state)
{
    char name[300];

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    point("loop", "loop");
    point("a", "b");
    point("b", "a");
    put("file", "1");
    struct rig r = WATCH("loop", "a/token", name, "file/token");
    assert_int_equal(told(&r), 0);
    put("other", "1");
    assert_int_equal(told(&r), 15);
    end(&r);
    r = WATCH("/", "");
    assert_int_equal(told(&r), 0);
    end(&r);
}

static void test_only_the_files_of_a_folder_are_told(void **state)
{
    (void)state;
    make_folder("a");
    make_folder("b");
    struct rig r = WATCH("a/cert", "a/key", "b/ca", "b/../a/cert");
    put("a/key", "1");
    assert_int_equal(told(&r), 1 | 2 | 8);
    put("b/ca", "1");
    assert_int_equal(told(&r), 4);
    end(&r);
}

/* ---- When it is told */

static void test_a_burst_is_told_once(void **state)
{
    (void)state;
    struct rig r = WATCH("token");
    for (int i = 0; i < 5; i++) { /* 0 .. 600 ms */
        put("token", "x");
        assert_true(read_events(&r));
        assert_int_equal(file_watch_fd(r.w, r.now_ms + READ_MS - 1), -1);
        r.now_ms += 150;
        assert_int_equal(take(&r), 0);
    }
    r.now_ms += QUIET_MS - 150 - 1;
    assert_int_equal(take(&r), 0);
    assert_int_equal(file_watch_wait_ms(r.w, r.now_ms), 1);
    r.now_ms += 1;
    assert_int_equal(take(&r), 1);
    end(&r);
}

/* Not later than a second after the first event, and not more often than once a second. */
static void test_endless_events_are_told_once_a_second(void **state)
{
    enum { MINUTE = 60, MINUTE_MS = 60000 };
    uint64_t last_ms = 0;
    unsigned reads = 0;
    unsigned n = 0;

    (void)state;
    put("token", "1");
    struct rig r = WATCH("token");
    uint64_t begin_ms = r.now_ms;
    for (; r.now_ms < begin_ms + MINUTE_MS; r.now_ms += 10) {
        touch("token");
        reads += read_events(&r);
        if (take(&r) == 0)
            continue;
        assert_true(last_ms == 0 || r.now_ms >= last_ms + SECOND_MS);
        last_ms = r.now_ms;
        n++;
    }
    assert_in_range(n, MINUTE / 2, MINUTE);
    assert_in_range(reads, 1, MINUTE_MS / READ_MS);
    end(&r);
}

/* Changes that come while the file rests are told when it has rested. */
static void test_no_change_is_lost(void **state)
{
    (void)state;
    struct rig r = WATCH("token");
    put("token", "1");
    assert_true(read_events(&r));
    r.now_ms += QUIET_MS;
    assert_int_equal(take(&r), 1);
    r.now_ms += READ_MS;
    put("token", "2");
    assert_true(read_events(&r));
    r.now_ms += SECOND_MS - READ_MS - 1;
    assert_int_equal(take(&r), 0);
    r.now_ms += 1;
    assert_int_equal(take(&r), 1);
    end(&r);
}

/* ---- Limits */

static unsigned watched_folders(const struct rig *r)
{
    char *path = mem_printf("/proc/self/fdinfo/%d", file_watch_fd(r->w, r->now_ms));
    FILE *f = fopen(path, "re");
    char line[256];
    unsigned n = 0;

    free(path);
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        n += strncmp(line, "inotify", 7) == 0;
    fclose(f);
    return n;
}

static void test_many_rotations_leave_nothing_watched(void **state)
{
    size_t rotations = campaign_size(100, 1000);

    (void)state;
    make_folder("volume");
    make_token("volume/..0", "0");
    point("volume/..data", "..0");
    point("volume/token", "..data/token");
    struct rig r = WATCH("volume/token", "volume/ca");
    unsigned before = watched_folders(&r);
    for (size_t i = 1; i <= rotations; i++) {
        char *folder = mem_printf("volume/..%zu", i);

        make_token(folder, "x");
        point("volume/..data", strchr(folder, '/') + 1);
        assert_int_equal(told(&r), 3);
        free(folder);
    }
    assert_int_equal(watched_folders(&r), before);
    end(&r);
}

/* The kernel drops events: any file may have changed. */
static void test_lost_events(void **state)
{
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    char line[32] = "";

    (void)state;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof(line), f));
    fclose(f);
    make_token("a", "1");
    put("a/other", "1");
    make_token("b", "1");
    struct rig r = WATCH("a/token", "b/token");
    for (long i = 0; i < strtol(line, NULL, 10); i++) /* equal events in a row would count as one */
        touch(i % 2 == 0 ? "a/token" : "a/other");
    touch("b/token");
    unsigned files = 0;
    while (read_events(&r) || file_watch_wait_ms(r.w, r.now_ms) >= 0) {
        r.now_ms += READ_MS;
        files |= take(&r);
    }
    assert_int_equal(files, 3);
    end(&r);
}

/* Gets the lines that the code logs to stderr; the caller closes it. */
static int catch_log(int *stderr_fd)
{
    int fd = memfd_create("log", MFD_CLOEXEC);

    *stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    return fd;
}

/* Exactly one line came, with this text. */
static void expect_warning(int log, int stderr_fd, const char *text)
{
    char got[2048] = "";

    assert_int_equal(dup2(stderr_fd, STDERR_FILENO), STDERR_FILENO);
    close(stderr_fd);
    assert_true(pread(log, got, sizeof(got) - 1, 0) > 0);
    close(log);
    const char *line = strstr(got, "helper: credential files cannot be watched");
    assert_non_null(line);
    assert_non_null(strstr(line, text));
    assert_null(strchr(strchr(line, '\n') + 1, '\n'));
}

static void test_without_inotify(void **state)
{
    struct rlimit before;
    int stderr_fd;
    int log = catch_log(&stderr_fd);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct rig r = WATCH("a", "b");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_warning(log, stderr_fd, "fs.inotify.max_user_instances");
    assert_int_equal(file_watch_fd(r.w, r.now_ms), -1);
    put("a", "1");
    assert_int_equal(take(&r), 0);
    assert_int_equal(file_watch_wait_ms(r.w, r.now_ms), -1);
    end(&r);
}

/* As nobody, in a folder that may be entered but not read. The next reading tries again. */
static void test_a_folder_that_cannot_be_read(void **state)
{
    int stderr_fd;

    (void)state;
    if (geteuid() != 0)
        skip();
    make_folder("a");
    put("a/token", "1");
    assert_int_equal(chmod("a", 0711), 0);
    assert_int_equal(seteuid(NOBODY), 0);
    int log = catch_log(&stderr_fd);
    struct rig r = WATCH("a/token", "a/other");
    assert_int_equal(seteuid(0), 0);
    expect_warning(log, stderr_fd, "must be able to read the folders");
    put("a/token", "2");
    assert_int_equal(told(&r), 0);
    file_watch_add(r.w, 0);
    put("a/token", "3");
    assert_int_equal(told(&r), 1);
    end(&r);
}

/* ---- Over a reload */

/* Makes the files that have these numbers before the files, in this order. */
static void renew(struct rig *r, const uint32_t *numbers, uint32_t count)
{
    struct helper_file files[FILES_MAX] = {{0}};

    for (uint32_t i = 0; i < count; i++)
        files[i] = r->files[numbers[i]];
    memcpy(r->files, files, sizeof(files));
    file_watch_renew(r->w, r->files, count, r->now_ms);
}

#define RENEW(r, ...) \
    renew(r, (const uint32_t[]){__VA_ARGS__}, ARRAY_LEN(((const uint32_t[]){__VA_ARGS__})))

/* Each file that stays is told once by its new number, changed or not; then its changes are. */
static void test_files_that_get_other_numbers(void **state)
{
    (void)state;
    make_token("a", "1");
    make_token("b", "1");
    make_token("c", "1");
    struct rig r = WATCH("a/token", "b/token", "c/token");
    RENEW(&r, 2, 0);
    assert_int_equal(told(&r), 3);
    touch("a/token");
    assert_int_equal(told(&r), 2);
    touch("c/token");
    assert_int_equal(told(&r), 1);
    unsigned folders = watched_folders(&r);
    touch("b/token"); /* its folder is not watched any more */
    assert_int_equal(told(&r), 0);
    RENEW(&r, 1);
    assert_int_equal(told(&r), 1);
    assert_int_equal(watched_folders(&r), folders - 1);
    end(&r);
}

/* An event that the kernel has reported already, and one that was read already. */
static void test_a_change_at_a_reload_is_told_once(void **state)
{
    (void)state;
    make_token("a", "1");
    make_token("b", "1");
    struct rig r = WATCH("a/token", "b/token");
    touch("a/token");
    assert_true(read_events(&r));
    touch("b/token");
    RENEW(&r, 1, 0);
    r.now_ms += READ_MS;
    assert_true(read_events(&r));
    assert_int_equal(take(&r), 0);
    r.now_ms += SECOND_MS;
    assert_int_equal(take(&r), 3);
    r.now_ms += SECOND_MS;
    assert_int_equal(told(&r), 0);
    end(&r);
}

static void test_reloads_tell_a_file_once_a_second(void **state)
{
    const uint32_t same[] = {0};

    (void)state;
    make_token("a", "1");
    struct rig r = WATCH("a/token");
    unsigned n = 0;
    for (int i = 0; i < 100; i++) { /* faster than a burst is told */
        renew(&r, same, 1);
        r.now_ms += READ_MS;
        n += take(&r);
    }
    assert_in_range(n, 9, 10); /* 10 s */
    n = 0;
    for (int i = 0; i < 40; i++) {
        renew(&r, same, 1);
        r.now_ms += READ_MS + QUIET_MS;
        n += take(&r);
    }
    assert_in_range(n, 8, 12); /* 12 s */
    end(&r);
}

/* main has not asked for a new file yet, nor for one that it never asked for. */
static void test_only_files_that_were_watched_are_told(void **state)
{
    (void)state;
    make_token("a", "1");
    make_token("b", "1");
    struct rig r = WATCH("a/token");
    r.paths[r.count] = mem_printf("%s/b/token", temp_folder_path());
    r.files[r.count].path = r.paths[r.count];
    r.count++;
    RENEW(&r, 1, 0);
    r.now_ms += QUIET_MS;
    assert_int_equal(take(&r), 2);
    RENEW(&r, 0); /* nothing is watched */
    assert_int_equal(file_watch_wait_ms(r.w, r.now_ms + SECOND_MS), -1);
    file_watch_add(r.w, 0);
    r.now_ms += SECOND_MS;
    touch("b/token");
    read_events(&r);
    r.now_ms += QUIET_MS;
    assert_int_equal(take(&r), 1);
    end(&r);
}

/* The credentials of two clusters may be one file. */
static void test_one_file_becomes_two_and_one_again(void **state)
{
    (void)state;
    make_token("a", "1");
    struct rig r = WATCH("a/token");
    RENEW(&r, 0, 0);
    assert_int_equal(told(&r), 3);
    touch("a/token");
    assert_int_equal(told(&r), 3);
    RENEW(&r, 1);
    assert_int_equal(told(&r), 1);
    touch("a/token");
    assert_int_equal(told(&r), 1);
    end(&r);
}

/* Also while main does not ask for the files in between. */
static void test_reloads_with_two_files_of_one_path_use_no_more_memory(void **state)
{
    const size_t room = 64 * (size_t)1024;

    (void)state;
    make_token("a", "1");
    struct rig r = WATCH("a/token", "a/token");
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 16; i++)
        RENEW(&r, 0, 1);
    assert_true(mallinfo2().uordblks < before + room);
    assert_int_equal(told(&r), 3);
    touch("a/token");
    assert_int_equal(told(&r), 3);
    end(&r);
}

static void test_without_files_nothing_is_opened(void **state)
{
    struct file_watch *none = NULL;

    (void)state;
    struct rig r = {.w = file_watch_create(NULL, 0)};
    assert_int_equal(file_watch_fd(r.w, 0), -1);
    assert_int_equal(file_watch_wait_ms(r.w, 0), -1);
    end(&r);
    file_watch_destroy(&none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_that_is_written_replaced_removed_and_back),
        TEST(test_a_file_that_is_not_closed),
        TEST(test_reading_is_no_change),
        TEST(test_the_current_link_of_the_kubelet),
        TEST(test_a_projected_volume),
        TEST(test_links_that_lead_to_other_folders),
        TEST(test_folders_that_do_not_exist_yet),
        TEST(test_folders_that_are_made_at_once),
        TEST(test_folders_that_are_replaced),
        TEST(test_a_folder_that_is_removed_and_back),
        TEST(test_paths_that_lead_nowhere),
        TEST(test_only_the_files_of_a_folder_are_told),
        TEST(test_a_burst_is_told_once),
        TEST(test_endless_events_are_told_once_a_second),
        TEST(test_no_change_is_lost),
        TEST(test_many_rotations_leave_nothing_watched),
        TEST(test_lost_events),
        TEST(test_without_inotify),
        TEST(test_a_folder_that_cannot_be_read),
        TEST(test_files_that_get_other_numbers),
        TEST(test_a_change_at_a_reload_is_told_once),
        TEST(test_reloads_tell_a_file_once_a_second),
        TEST(test_only_files_that_were_watched_are_told),
        TEST(test_one_file_becomes_two_and_one_again),
        TEST(test_reloads_with_two_files_of_one_path_use_no_more_memory),
        TEST(test_without_files_nothing_is_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
