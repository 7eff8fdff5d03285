/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an address: an error with a text, or parts that make an address which parses into
 * the same parts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_again(const struct url *u)
{
    struct buf text = {0};
    struct url again = {0};

    buf_puts(&text, u->tls ? "https://" : "http://");
    url_put_host(&text, u);
    buf_puts(&text, u->prefix);
    ensure(url_parse(buf_cstr(&text), &again, NULL) == ERR_OK);
    ensure(again.tls == u->tls && again.port == u->port);
    ensure(strcmp(again.host, u->host) == 0 && strcmp(again.prefix, u->prefix) == 0);
    buf_free(&text);
    url_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size);
    struct url u = {0};
    struct err err = {0};

    if (url_parse(text, &u, &err) == ERR_OK && size < 2000) /* scheme and port make it longer */
        parse_again(&u);
    else if (u.host != NULL)
        ensure(size >= 2000);
    else
        ensure(u.host == NULL && err.kind == ERR_CONFIG && err.text[0] != '\0');
    url_fini(&u);
    free(text);
    return 0;
}
