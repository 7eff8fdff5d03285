/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp - the hook of latency.py and hooks.py: appends the moment in which its main() begins, and
 * its object, to the file in $STAMPS; then sleeps for $STAMP_NAP_MS.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void nap(const char *text)
{
    unsigned long ms = text != NULL ? strtoul(text, NULL, 10) : 0;

    nanosleep(&(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000}, NULL);
}

int main(void)
{
    struct timespec ts;
    char line[256];
    const char *path = getenv("STAMPS");
    const char *name = getenv("INFORMERD_NAME");
    const char *rv = getenv("INFORMERD_RESOURCE_VERSION");

    clock_gettime(CLOCK_MONOTONIC, &ts);
    if (path == NULL || name == NULL || rv == NULL)
        return 1;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    int n = snprintf(line, sizeof(line), "%s %s %lld\n", name, rv,
                     (long long)ts.tv_sec * 1000000000LL + ts.tv_nsec);
    if (fd < 0 || n < 0 || (size_t)n >= sizeof(line) || write(fd, line, (size_t)n) != n)
        return 1;
    nap(getenv("STAMP_NAP_MS"));
    return 0;
}
