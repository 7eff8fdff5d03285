/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_source - reads the files of a configuration from the disk, with the rights of the process
 * that calls it; driver.
 */
#ifndef HELPER_FILE_SOURCE_H
#define HELPER_FILE_SOURCE_H

#include "base/file_set.h"

/* The disk. A file that is to be trusted is opened by path_trust_open(). */
extern const struct file_set_source file_source_disk;

#endif
