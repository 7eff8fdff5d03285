/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host - under which names a browser may ask for the page; pure. A site of an attacker can give its
 * own name the address of this machine (DNS rebinding): then the browser takes our answers for answers
 * of that site, and shows them to its scripts. Such a request has the name of the site as its Host.
 */
#ifndef ADMIN_HOST_H
#define ADMIN_HOST_H

#include <stdbool.h>

#include "base/str.h"

/* Is the host, in lower case, perhaps with a port, an IP address, localhost, or the name of this node?
 * No name of a site is a number. An empty one is fine, as each browser sends a name. */
bool host_is_ours(struct str host, const char *node);

#endif
