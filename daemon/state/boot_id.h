/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_id - which start of the kernel this is; driver.
 */
#ifndef STATE_BOOT_ID_H
#define STATE_BOOT_ID_H

enum { BOOT_ID_LEN = 36 };

/* Fills id, of BOOT_ID_LEN + 1 bytes; "" = it cannot be read. */
void boot_id_read(char *id);

#endif
