/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables - the parameters of the helper as bytes, for its child that reads the configuration; pure.
 * Integers are in the byte order of the machine. The bytes may hold secrets (environments).
 */
#ifndef HELPER_TABLES_H
#define HELPER_TABLES_H

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "helper/helper.h"

/* Appends all hooks, all files and shared_runs. nofile_soft is left out: it is no setting. */
void tables_encode(const struct helper_params *params, struct buf *out);

/* Makes parameters in memory of their own out of such bytes, with this nofile_soft. *out is released
 * with tables_free(). ERR_PROTOCOL: the bytes are others, or a hook lacks its program or its
 * environment; *out is NULL. */
enum err_kind tables_decode(struct str bytes, rlim_t nofile_soft, struct helper_params **out,
                            struct err *err) MUST_CHECK;

/* Frees *params and sets it to NULL. NULL is fine. */
void tables_free(struct helper_params **params);

#endif
