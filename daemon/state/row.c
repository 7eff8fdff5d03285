/* SPDX-License-Identifier: Apache-2.0 */
#include "state/row.h"

#include "base/compiler.h"
#include "base/panic.h"
#include "state/pack.h"

#define ROW_WORD(id, word) word,
static const char *const words[] = {ROW_WHAT_MAP(ROW_WORD)};
#undef ROW_WORD

const char *row_what_name(enum row_what what)
{
    ensure((unsigned)what < ARRAY_LEN(words));
    return words[what];
}

enum row_what row_what_find(struct str word)
{
    size_t i = 0;

    while (i < ARRAY_LEN(words) && !str_is(word, words[i]))
        i++;
    return (enum row_what)i;
}

/* The digest, folded to 64 bits: enough against accidents, and it fits an INTEGER of SQLite. */
static uint64_t sum(const struct buf *packed)
{
    struct digest d = digest_of(packed->data, packed->len);

    return d.lo ^ d.hi;
}

uint64_t row_item_sum(struct buf *scratch, const struct row_item *item)
{
    buf_clear(scratch);
    pack_item(scratch, item);
    return sum(scratch);
}

uint64_t row_fact_sum(struct buf *scratch, uint64_t item, struct str word, struct str key,
                      struct str value)
{
    buf_clear(scratch);
    pack_u64(scratch, item);
    pack_str(scratch, word);
    pack_str(scratch, key);
    pack_str(scratch, value);
    return sum(scratch);
}

uint64_t row_object_sum(struct buf *scratch, uint64_t scope, const struct row_object *o)
{
    buf_clear(scratch);
    pack_u64(scratch, scope);
    pack_str(scratch, o->key);
    pack_object(scratch, o);
    return sum(scratch);
}

uint64_t row_delivery_sum(struct buf *scratch, const struct row_delivery *m)
{
    buf_clear(scratch);
    pack_u64(scratch, m->source);
    pack_str(scratch, m->key);
    pack_str(scratch, m->uid);
    pack_delivery(scratch, m);
    return sum(scratch);
}
