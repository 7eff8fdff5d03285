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
