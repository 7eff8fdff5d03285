/* SPDX-License-Identifier: Apache-2.0 */
#include "app/notify.h"

#ifdef HAVE_LIBSYSTEMD
#include <systemd/sd-daemon.h>

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void notify_status(const char *text)
{
    sd_notifyf(0, "STATUS=%s", text);
}
#else
void notify_ready(void)
{
}

void notify_stopping(void)
{
}

void notify_status(const char *text)
{
    (void)text;
}
#endif
