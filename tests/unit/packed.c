/* SPDX-License-Identifier: Apache-2.0 */
#include "packed.h"

#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/mem.h"
#include "base/panic.h"

static void begin(z_stream *z)
{
    *z = (z_stream){0};
    ensure(deflateInit2(z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
}

/* Compresses the content, and all that is left with Z_FINISH. */
static void put(z_stream *z, struct buf *out, struct str content, int flush)
{
    z->next_in = (const unsigned char *)content.p;
    z->avail_in = (unsigned)content.n;
    do {
        z->next_out = (unsigned char *)buf_reserve(out, 4096);
        z->avail_out = 4096;
        ensure(deflate(z, flush) != Z_STREAM_ERROR);
        out->len += 4096 - z->avail_out;
    } while (z->avail_out == 0);
}

void packed_put(struct buf *out, struct str content)
{
    z_stream z;

    begin(&z);
    put(&z, out, content, Z_FINISH);
    deflateEnd(&z);
}

void packed_put_fill(struct buf *out, char byte, size_t n)
{
    char same[4096];
    z_stream z;

    memset(same, byte, sizeof(same));
    begin(&z);
    for (; n > sizeof(same); n -= sizeof(same))
        put(&z, out, str_of(same, sizeof(same)), Z_NO_FLUSH);
    put(&z, out, str_of(same, n), Z_FINISH);
    deflateEnd(&z);
}

void packed_put_full_header(struct buf *out, struct str content)
{
    unsigned char extra[] = "extra";
    unsigned char name[] = "list.json";
    unsigned char comment[] = "a comment";
    gz_header header = {
        .extra = extra, .extra_len = sizeof(extra), .name = name, .comment = comment, .hcrc = 1};
    z_stream z;

    begin(&z);
    ensure(deflateSetHeader(&z, &header) == Z_OK);
    put(&z, out, content, Z_FINISH);
    deflateEnd(&z);
}

size_t packed_content(struct str begin, size_t max)
{
    unsigned char *content = mem_alloc(max);
    z_stream z = {.next_in = (const unsigned char *)begin.p,
                  .avail_in = (unsigned)begin.n,
                  .next_out = content,
                  .avail_out = (unsigned)max};

    ensure(inflateInit2(&z, 16 + MAX_WBITS) == Z_OK);
    (void)inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    free(content);
    return max - z.avail_out;
}
