/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_id - reads the kernel's boot id, a UUID that is new at each boot; driver.
 */
#ifndef STATE_BOOT_ID_H
#define STATE_BOOT_ID_H

enum { BOOT_ID_LEN = 36 };

/* Writes the boot id and a NUL into id, a buffer of BOOT_ID_LEN + 1 bytes; "" if it cannot be
 * read. */
void boot_id_read(char *id);

#endif
