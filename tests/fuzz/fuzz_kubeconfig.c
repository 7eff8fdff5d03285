/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as one or two files of a kubeconfig: a result with a server, or an error with a text; no
 * more. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "kube/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* NOLINT: libFuzzer's name */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) /* NOLINT: libFuzzer's name */
{
    const char *text = (const char *)data;
    /* No YAML has this byte, so it can stand between two files. */
    const char *cut = size > 0 ? memchr(text, 0x1e, size) : NULL;
    size_t n = cut != NULL ? (size_t)(cut - text) : size;
    const struct kubeconfig_file files[] = {
        {"one",                         str_of(text,               n)},
        { "two", cut != NULL ? str_of(cut + 1, size - n - 1) : str_of("", 0)},
    };
    struct kubeconfig k;
    struct err err = {0};

    if (kubeconfig_parse(files, cut != NULL ? 2 : 1, NULL, &k, &err) == ERR_OK)
        ensure(k.server != NULL && k.context != NULL);
    else
        ensure(k.server == NULL && err.kind == ERR_CONFIG && err.text[0] != '\0');
    kubeconfig_fini(&k);
    return 0;
}
