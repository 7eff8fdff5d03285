/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify - tells systemd how the service is doing (sd_notify(3)). Works with HAVE_LIBSYSTEMD and
 * $NOTIFY_SOCKET, else does nothing.
 */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

/* Says READY=1: the service has started. */
void notify_ready(void);

/* Says STOPPING=1: the service is about to end. */
void notify_stopping(void);

/* Says STATUS=text: one line for systemctl status. */
void notify_status(const char *text);

#endif
