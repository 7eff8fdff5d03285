/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify - tells systemd how the service stands. With HAVE_LIBSYSTEMD and $NOTIFY_SOCKET; else does
 * nothing.
 */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

/* READY=1. */
void notify_ready(void);

/* STOPPING=1. */
void notify_stopping(void);

/* STATUS=text: one line for systemctl status. */
void notify_status(const char *text);

#endif
