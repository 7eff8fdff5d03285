/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_journal - log lines as entries of systemd's journal, with fields that journalctl can select
 * (systemd: "Native Journal Protocol"). libsystemd is not used: its sd_journal_sendv() waits without
 * a limit for a journal that has stopped.
 */
#ifndef BASE_LOG_JOURNAL_H
#define BASE_LOG_JOURNAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/str.h"

/* Does stderr go to the journal? systemd sets JOURNAL_STREAM to device and inode of the stream, which
 * a program that redirects stderr leaves as it is. */
bool log_journal_has_stderr(void) MUST_CHECK;

/* Appends an entry: MESSAGE, PRIORITY (of syslog), SYSLOG_IDENTIFIER, and CLUSTER, WATCH, VIEW, HOOK,
 * RUN and KEY from the fields with these names. */
void log_journal_put(struct buf *out, int priority, struct str message, const struct kv *fields);

/* The socket of the journal, opened when it is first asked for, and anew after a fork. -1: there is
 * none. Not to be closed. */
int log_journal_socket(void) MUST_CHECK;

enum log_journal_sent { LOG_JOURNAL_SENT, LOG_JOURNAL_FULL, LOG_JOURNAL_FAILED };

/* Sends one entry; never blocks. FULL: the journal does not read at the moment. FAILED: it takes no
 * such entry, which may be too long, or it is gone; the next log_journal_socket() opens the socket
 * anew. */
enum log_journal_sent log_journal_send(const struct buf *entry) MUST_CHECK;

#endif
