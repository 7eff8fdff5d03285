/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_proc.h"
#include "temp_folder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static char folder[64];

const char *fake_proc_create(void)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof(folder), "/tmp/informerd-proc-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

void fake_proc_remove(void)
{
    temp_folder_remove(fake_proc_create());
    folder[0] = '\0';
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + strlen(folder), '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755); /* most folders exist already */
        *slash = '/';
    }
}

void fake_proc_put(pid_t pid, const char *file, const char *bytes, size_t n)
{
    char *path = mem_printf("%s/%d/%s", fake_proc_create(), (int)pid, file);

    make_folders(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    free(path);
}

void fake_proc_process(pid_t pid, pid_t parent, uint64_t start)
{
    char *line = mem_printf("%d (sh) S %d 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0 0 1 2 3 4 5"
                            " 0 0 0 0 0 0 0 17 0 0 0 0 0 0 6 7 8 9 10 100 100 0\n",
                            (int)pid, (int)parent, (unsigned long long)start);

    fake_proc_put(pid, "stat", line, strlen(line));
    free(line);
}

void fake_proc_environ(pid_t pid, const char *variable)
{
    const char *s = variable != NULL ? variable : "";

    fake_proc_put(pid, "environ", s, strlen(s) + (variable != NULL));
}

void fake_proc_children(pid_t pid, const char *list)
{
    char *file = mem_printf("task/%d/children", (int)pid);

    fake_proc_put(pid, file, list, strlen(list));
    free(file);
}

void fake_proc_end(pid_t pid)
{
    char *path = mem_printf("%s/%d", fake_proc_create(), (int)pid);

    temp_folder_remove(path);
    free(path);
}
