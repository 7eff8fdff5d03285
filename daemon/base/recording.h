/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording - the version of the format that `informerctl record` writes and `informerd --replay`
 * reads (informerctl(1) "RECORDINGS"); data.
 */
#ifndef BASE_RECORDING_H
#define BASE_RECORDING_H

/* Stands in the first line of a file. A change that an older reader would misread makes it another
 * one. */
#define RECORDING_VERSION 1

#endif
