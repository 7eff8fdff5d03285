/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitoring - lets others look at the daemon: the sockets of metrics.listen, and metrics.textfile
 * (docs/design.md "Metrics"). app/control makes the answers; nobody can order anything through them.
 */
#ifndef APP_MONITORING_H
#define APP_MONITORING_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "conf/conf.h"

struct control;
struct helper_link;
struct loop;
struct monitoring;

/* Clients of one address that have a place (io/listener). */
enum { MONITORING_CLIENTS = 32 };

/* Bytes of answers that the clients of one address have not read yet; beyond, requests get 503. */
#define MONITORING_QUEUED_BYTES ((size_t)16 * 1024 * 1024)

/* Sockets that listen, one for each address. Zero-initialised is empty. */
struct monitoring_sockets {
    int *fds;         /* -1 = monitoring_change() binds it */
    char **addresses; /* as metrics.listen has them */
    size_t n;
};

/* Binds all addresses of metrics.listen. A start calls it before it drops the rights of root, so that ports
 * below 1024 can be bound. If metrics.listen is the default, an address that cannot be bound is logged and
 * left out, so that a second informerd on a machine starts. */
enum err_kind monitoring_bind(const struct conf *conf, struct monitoring_sockets *out,
                              struct err *err) MUST_CHECK;

/* Closes the sockets. */
void monitoring_unbind(struct monitoring_sockets *s);

/* loop, link and control are borrowed until dispose. */
struct monitoring_params {
    struct loop *loop;
    struct helper_link *link;
    struct control *control;
    const char *node; /* a name under which the page may be asked for */
    const struct conf *conf;
    uint32_t textfile_number;           /* build_textfile_number() */
    struct monitoring_sockets *sockets; /* taken: empty afterwards */
};

/* Answers on the sockets, and writes metrics.textfile. Never NULL; release with monitoring_dispose(). */
struct monitoring *monitoring_create(const struct monitoring_params *params);

/* A reload: binds those addresses of conf that are new, but for one that is in use because m has its
 * port with an address that conf does not have: that one waits for monitoring_change(), before which
 * nothing else changes. Fails as monitoring_bind(); then nothing has changed. */
enum err_kind monitoring_prepare(struct monitoring *m, const struct conf *conf,
                                 struct err *err) MUST_CHECK;

/* The reload is given up: closes the sockets that monitoring_prepare() has bound. */
void monitoring_cancel(struct monitoring *m);

/* The settings of conf take effect, for which monitoring_prepare() was the last call. Clients of
 * addresses that stay notice nothing. An address that had to wait and cannot be bound is logged. To be called
 * when the numbers of the helper have changed. */
void monitoring_change(struct monitoring *m, const struct conf *conf, uint32_t textfile_number);

/* Closes all sockets and sets *m to NULL. NULL is fine. */
void monitoring_dispose(struct monitoring **m);

#endif
