/* SPDX-License-Identifier: Apache-2.0 */
/*
 * textfile - writes the metrics to the file metrics.textfile, for the textfile collector of
 * node_exporter; the helper writes, as the folder may be one that only root may write to
 * (docs/decisions.md "The helper writes metrics.textfile").
 */
#ifndef APP_TEXTFILE_H
#define APP_TEXTFILE_H

#include <stdint.h>

#include "base/buf.h"

struct helper_link;
struct loop;
struct textfile;

/* The file is written at once, and then every so often. */
enum { TEXTFILE_EVERY_MS = 15000 };

/* An attempt that takes longer is killed: the file may be on a network that hangs. */
enum { TEXTFILE_TIME_MS = 60000 };

struct textfile_params {
    struct loop *loop;
    struct helper_link *link;
    void (*put)(void *arg, struct buf *out); /* appends the metrics */
    /* The file cannot be written because of `trouble`, which is borrowed until the next call; NULL =
     * it can again, or is not wanted any more. */
    void (*on_trouble)(void *arg, const char *trouble);
    void *arg;
};

/* Writes nothing before textfile_set(). Never NULL; release with textfile_dispose(). */
struct textfile *textfile_create(const struct textfile_params *params);

/* The file has this path (copied), and its hook this number with the helper. NULL: no file is written. The
 * file that was written before stays as it is. To be called again whenever numbers change. */
void textfile_set(struct textfile *t, const char *path, uint32_t number);

/* Sets *t to NULL; no event follows. NULL is fine. */
void textfile_dispose(struct textfile **t);

#endif
