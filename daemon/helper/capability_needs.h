/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capability_needs - the capabilities that the helper needs for its parameters (SECURITY.md "The
 * capabilities of the helper"); pure. Sets are bits, see base/capability.h.
 */
#ifndef HELPER_CAPABILITY_NEEDS_H
#define HELPER_CAPABILITY_NEEDS_H

#include <stdint.h>

#include "base/compiler.h"
#include "helper/helper.h"

/* The capabilities that the helper itself needs to serve main with these parameters, of those that it
 * may have. Those that a program gets by exec are not among them. */
uint64_t capability_needs(const struct helper_params *params, uint64_t permitted) MUST_CHECK;

/* Those that reading, writing and removing of files of other users needs. */
uint64_t capability_needs_of_files(void) MUST_CHECK;

#endif
