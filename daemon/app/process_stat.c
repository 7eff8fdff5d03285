/* SPDX-License-Identifier: Apache-2.0 */
#include "app/process_stat.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"

size_t process_stat_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;

    if (folder == NULL)
        return 0;
    for (const struct dirent *e; (e = readdir(folder)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(folder);
    return n - 1; /* without the one of the folder itself */
}

/* proc(5): /proc/self/statm begins with the pages of the address space and those in memory. */
static void read_memory(struct admin_process *out)
{
    FILE *file = fopen("/proc/self/statm", "re");
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char line[256];

    if (file == NULL)
        return;
    if (fgets(line, sizeof(line), file) != NULL) {
        char *rest;

        out->virtual_bytes = strtoull(line, &rest, 10) * page;
        out->resident_bytes = strtoull(rest, NULL, 10) * page;
    }
    fclose(file);
}

void process_stat_read(struct admin_process *out)
{
    struct timespec cpu;
    struct rlimit limit;

    read_memory(out);
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        out->cpu_ms = (uint64_t)cpu.tv_sec * 1000 + (uint64_t)cpu.tv_nsec / 1000000;
    out->open_fds = process_stat_descriptors();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        out->max_fds = limit.rlim_cur;
}
