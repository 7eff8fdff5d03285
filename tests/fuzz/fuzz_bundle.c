/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the bundle with which the helper answers a RELOAD: they are refused, or they are the files of a
 * set, whose own bundle is one of the same files. */
#include "base/file_set.h"
#include "fuzz_input.h"

static void look(struct file_set *s)
{
    for (size_t i = 0; i < s->file_count; i++) {
        const struct file_set_file *f = s->files[i];

        ensure(f->path != NULL && f->shown != NULL && (f->reason != NULL) == (f->error != 0));
        ensure(file_set_read(s, &f->key) != NULL);
    }
    for (size_t i = 0; i < s->names_count; i++)
        ensure(file_set_match(s, s->names[i]->pattern) != NULL);
}

/* The bundle of the files of a bundle; false: it is refused. */
static bool pack_again(struct str bytes, struct buf *out)
{
    struct file_set s;
    struct err err = {0};

    if (file_set_decode(bytes, &s, &err) != ERR_OK) {
        ensure(err.kind == ERR_PROTOCOL && s.file_count == 0 && s.names_count == 0);
        fuzz_check_line(err.text);
        return false;
    }
    look(&s);
    file_set_encode(&s, out);
    file_set_fini(&s);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf once = {0};
    struct buf twice = {0};

    if (pack_again(str_of((const char *)data, n), &once)) {
        ensure(pack_again(buf_str(&once), &twice));
        ensure(str_eq(buf_str(&once), buf_str(&twice)));
    }
    buf_free(&once);
    buf_free(&twice);
    return 0;
}
