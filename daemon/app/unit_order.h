/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_order - finds commands of hooks that wait for a unit which systemd starts after informerd. It
 * reads the unit files: informerd asks systemd nothing.
 */
#ifndef APP_UNIT_ORDER_H
#define APP_UNIT_ORDER_H

#include "conf/where.h"

/* The argument of a command `systemctl start|restart|reload... UNIT` without --no-block whose unit has
 * After=informerd.service in a file or drop-in; NULL = there is none. Only the words of the command
 * are looked at: a systemctl inside of a script, or an order over a third unit, is not seen. root is
 * put before the folders of units ("" = this machine). */
const char *unit_order_waits(const struct conf_list *command, const char *root);

#endif
