/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/relist.h"

const char *relist_reason_name(enum relist_reason why)
{
#define RELIST_NAME(id, name) name,
    static const char *const names[] = {RELIST_MAP(RELIST_NAME)};
#undef RELIST_NAME

    return names[why];
}

enum relist_reason relist_reason_of(enum err_kind kind)
{
    switch (kind) {
    case ERR_IO:
    case ERR_CLOSED:
    case ERR_REFUSED:
    case ERR_TIMEOUT:
    case ERR_TLS:
    case ERR_CREDENTIAL:
    case ERR_BUSY:
    case ERR_UNAUTHORIZED:
    case ERR_FORBIDDEN:
    case ERR_FOREIGN:
    case ERR_NO_VERB:
        /* The server could not be reached, is busy or foreign, or refuses this client: its version
         * may be as good as before (docs/kubernetes-protocol.md "Start of a watch"). */
        return RELIST_REASONS;
    case ERR_EXPIRED:
        return RELIST_EXPIRED;
    case ERR_FUTURE:
        return RELIST_FUTURE;
    case ERR_OK:
    case ERR_PROTOCOL:
    case ERR_TOO_BIG:
    case ERR_NOT_FOUND:
    case ERR_SERVER:
    case ERR_CONFIG:
    case ERR_KINDS:
        break;
    }
    return RELIST_ERROR;
}

bool relist_is_refusal(const struct err *err)
{
    return err->kind == ERR_NO_VERB ||
           (err->kind == ERR_SERVER && err->code >= 400 && err->code < 500);
}

enum relist_way relist_way_of(enum err_kind kind)
{
    switch (kind) {
    case ERR_IO:
    case ERR_CLOSED:
    case ERR_REFUSED:
    case ERR_TLS:
    case ERR_CREDENTIAL:
    case ERR_BUSY:
    case ERR_UNAUTHORIZED:
    case ERR_FOREIGN:
        /* A LIST would fail in the same way. */
        return RELIST_LATER;
    case ERR_EXPIRED:
    case ERR_FUTURE:
        /* The version was refused, not the streaming list. */
        return RELIST_NEWEST;
    case ERR_OK:
    case ERR_TIMEOUT:
    case ERR_PROTOCOL:
    case ERR_TOO_BIG:
    case ERR_FORBIDDEN:
    case ERR_NOT_FOUND:
    case ERR_NO_VERB:
    case ERR_SERVER:
    case ERR_CONFIG:
    case ERR_KINDS:
        break;
    }
    /* The streaming list itself may be the trouble: the server or a proxy does not support it. */
    return RELIST_BY_LIST;
}
