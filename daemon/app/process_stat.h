/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_stat - the figures of /proc about this process.
 */
#ifndef APP_PROCESS_STAT_H
#define APP_PROCESS_STAT_H

#include <stddef.h>

struct admin_process;

/* How many descriptors this process has open; 0 = /proc does not say. */
size_t process_stat_descriptors(void);

/* Fills the members about memory, time and descriptors. Those that /proc does not say stay as they are. */
void process_stat_read(struct admin_process *out);

#endif
