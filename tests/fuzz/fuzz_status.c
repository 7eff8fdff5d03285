/* SPDX-License-Identifier: Apache-2.0 */
/* Two bytes of HTTP code, then a body: the result is always an error with a text. The text has
 * the bytes of the server: they are made harmless where it is shown (base/visible). */
#include <string.h>

#include "base/panic.h"
#include "kube/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct status s;
    struct err err;

    if (n < 2)
        return 0;
    status_parse(&s, (data[0] << 8 | data[1]) % 600, str_of((const char *)data + 2, n - 2));
    ensure(status_to_err(&s, &err) != ERR_OK);
    ensure(err.kind != ERR_OK && err.text[0] != '\0');
    ensure(strnlen(err.text, sizeof(err.text)) < sizeof(err.text));
    return 0;
}
