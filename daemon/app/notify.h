/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify - tells systemd how the service is doing (sd_notify(3)). Works with HAVE_LIBSYSTEMD and
 * $NOTIFY_SOCKET, else does nothing.
 */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

#include <stdint.h>

/* Says READY=1: the service has started, or a reload has ended. */
void notify_ready(void);

/* Says RELOADING=1 with the time: notify_ready() is to follow, however the reload ends. */
void notify_reloading(void);

/* Says STOPPING=1: the service is about to end. */
void notify_stopping(void);

/* Says WATCHDOG=1: the event loop turns. */
void notify_watchdog(void);

/* After how many microseconds without WATCHDOG=1 systemd gives this process up; 0 = never. */
uint64_t notify_watchdog_usec(void);

/* Says STATUS=text: one line for systemctl status. */
void notify_status(const char *text);

#endif
