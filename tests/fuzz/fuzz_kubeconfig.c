/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a kubeconfig: a result with a server, or an error with a text; no more. */
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"
#include "kube/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* NOLINT: libFuzzer's name */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) /* NOLINT: libFuzzer's name */
{
    const struct kubeconfig_file file = {"fuzz", str_of((const char *)data, size)};
    struct kubeconfig k;
    struct err err = {0};

    if (kubeconfig_parse(&file, 1, NULL, &k, &err) == ERR_OK)
        ensure(k.server != NULL && k.context != NULL);
    else
        ensure(k.server == NULL && err.kind == ERR_CONFIG && err.text[0] != '\0');
    kubeconfig_fini(&k);
    return 0;
}
