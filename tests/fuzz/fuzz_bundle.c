/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the bundle with which the helper answers a RELOAD: they are refused, or they are the files of a
 * set, and its bundle has the same bytes. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = str_of((const char *)data, n);
    struct file_set s = {0};
    struct buf again = {0};
    struct err err = {0};

    if (file_set_decode(bytes, &s, &err) != ERR_OK) {
        ensure(err.kind == ERR_PROTOCOL && s.file_count == 0 && s.names_count == 0);
        fuzz_check_line(err.text);
        return 0;
    }
    file_set_encode(&s, &again);
    ensure(str_eq(bytes, buf_str(&again)));
    look(&s);
    file_set_fini(&s);
    buf_free(&again);
    return 0;
}
