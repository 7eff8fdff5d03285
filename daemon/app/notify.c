/* SPDX-License-Identifier: Apache-2.0 */
#include "app/notify.h"

#ifdef HAVE_LIBSYSTEMD
#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

/* systemd 253 and later tell by the time whether the reload is the one that they have asked for. */
void notify_reloading(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
               (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void notify_status(const char *text)
{
    sd_notifyf(0, "STATUS=%s", text);
}

void notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_watchdog_usec(void)
{
    uint64_t usec = 0;

    return sd_watchdog_enabled(0, &usec) > 0 ? usec : 0;
}
#else
void notify_ready(void)
{
}

void notify_reloading(void)
{
}

void notify_stopping(void)
{
}

void notify_status(const char *text)
{
    (void)text;
}

void notify_watchdog(void)
{
}

uint64_t notify_watchdog_usec(void)
{
    return 0;
}
#endif
