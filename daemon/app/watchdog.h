/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watchdog - says WATCHDOG=1 to systemd from the event loop, so that systemd restarts a daemon whose
 * loop stands still (WatchdogSec= of the unit); driver.
 */
#ifndef APP_WATCHDOG_H
#define APP_WATCHDOG_H

struct loop;
struct watchdog;

/* Says it now and from then on at half of the time after which systemd would give the process up.
 * NULL if systemd did not ask for that; release with watchdog_dispose(). */
struct watchdog *watchdog_create(struct loop *loop);

/* The end: *w is NULL. NULL is fine. */
void watchdog_dispose(struct watchdog **w);

#endif
