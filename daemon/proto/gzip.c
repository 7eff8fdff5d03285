/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/gzip.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* zlib does not write to its input, and says so only if asked. */
#define ZLIB_CONST
#include <zlib.h>

#include "base/mem.h"
#include "base/panic.h"

enum { PIECE_BYTES = 32768 };

/* zlib's number for "gzip, and nothing else" with the largest window. */
enum { GZIP_ONLY = 16 + MAX_WBITS };

struct gzip {
    z_stream z;
    bool in_member;   /* the first byte of a member was read, its last one was not */
    uint64_t members; /* so many are complete */
    uint64_t content; /* bytes of content so far */
    size_t allowed;   /* bytes of content that may still come without further input */
    char piece[PIECE_BYTES];
};

/* zlib asks for a few blocks of a fixed size: its state and the window. */
static void *allocate(void *opaque, unsigned items, unsigned size)
{
    (void)opaque;
    return mem_array(items, size);
}

static void release(void *opaque, void *block)
{
    (void)opaque;
    free(block);
}

struct gzip *gzip_create(void)
{
    struct gzip *g = mem_zalloc(sizeof(*g));

    g->allowed = GZIP_ALLOWANCE_BYTES;
    g->z.zalloc = allocate;
    g->z.zfree = release;
    int e = inflateInit2(&g->z, GZIP_ONLY);

    ensure(e == Z_OK);
    return g;
}

void gzip_destroy(struct gzip **g)
{
    if (*g == NULL)
        return;
    inflateEnd(&(*g)->z);
    free(*g);
    *g = NULL;
}

/* Counts the bytes that a call of zlib has read and made. False: the body grows too much. */
static bool count(struct gzip *g, size_t used, size_t made)
{
    size_t allowed = g->allowed + used * GZIP_RATIO;

    if (made > allowed)
        return false;
    allowed -= made;
    g->allowed = allowed < GZIP_ALLOWANCE_BYTES ? allowed : GZIP_ALLOWANCE_BYTES;
    g->content += made;
    return true;
}

static enum gzip_part fail(const struct gzip *g, struct err *err)
{
    const char *why = g->z.msg != NULL ? g->z.msg : "no gzip";

    /* Bytes behind a body that was complete. */
    if (g->members > 0 && g->z.total_out == 0)
        err_set(err, ERR_PROTOCOL, 0, "gzip: malformed behind member %llu: %s",
                (unsigned long long)g->members, why);
    else
        err_set(err, ERR_PROTOCOL, 0, "gzip: malformed: %s", why);
    return GZIP_FAILED;
}

static enum gzip_part fail_too_much(struct err *err)
{
    err_set(err, ERR_PROTOCOL, 0,
            "gzip: the body grows to more than %zu times its size, as a decompression bomb does; "
            "to list without gzip set tuning.compression = \"off\"",
            GZIP_RATIO);
    return GZIP_FAILED;
}

/* Calls zlib once: takes the bytes that it has read from *data; *piece is the content that it has made
 * of them. */
static int inflate_some(struct gzip *g, struct str *data, struct str *piece)
{
    unsigned n = data->n < UINT_MAX ? (unsigned)data->n : UINT_MAX;

    g->z.next_in = (const unsigned char *)data->p;
    g->z.avail_in = n;
    g->z.next_out = (unsigned char *)g->piece;
    g->z.avail_out = PIECE_BYTES;
    int result = inflate(&g->z, Z_NO_FLUSH);
    size_t used = n - g->z.avail_in;

    *data = str_of(data->p + used, data->n - used);
    *piece = str_of(g->piece, PIECE_BYTES - g->z.avail_out);
    return result;
}

enum gzip_part gzip_read(struct gzip *g, struct str *data, struct str *piece, struct err *err)
{
    /* zlib is called within a member even if no bytes are left: it may still hold content. */
    while (g->in_member || data->n > 0) {
        size_t before = data->n;

        if (!g->in_member)
            inflateReset(&g->z);
        g->in_member = true;
        int result = inflate_some(g, data, piece);
        if (result == Z_BUF_ERROR) /* it can do nothing without more bytes */
            return GZIP_MORE;
        if (result != Z_OK && result != Z_STREAM_END)
            return fail(g, err);
        if (!count(g, before - data->n, piece->n))
            return fail_too_much(err);
        g->in_member = result == Z_OK;
        g->members += result == Z_STREAM_END;
        if (piece->n > 0)
            return GZIP_PIECE;
    }
    return GZIP_MORE;
}

enum err_kind gzip_end(const struct gzip *g, struct err *err)
{
    if (!g->in_member)
        return ERR_OK;
    return err_set(err, ERR_PROTOCOL, 0, "gzip: the body is cut short, after %llu bytes of content",
                   (unsigned long long)g->content);
}
