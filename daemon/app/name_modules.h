/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_modules - the modules of the name service that lookups of host names use (nsswitch.conf(5)).
 */
#ifndef APP_NAME_MODULES_H
#define APP_NAME_MODULES_H

#include "base/str.h"

typedef void name_modules_cb(void *arg, struct str name);

/* Calls back with each service in the lines `hosts:` of an nsswitch.conf, such as "files" and "dns"; pure. */
void name_modules_find(struct str text, name_modules_cb *cb, void *arg);

/* Loads them, for the life of the process: getaddrinfo() would load each when it needs it first, which a
 * process cannot do that may map no code any more. A module that cannot be loaded is passed over, as glibc
 * does. */
void name_modules_load(void);

#endif
