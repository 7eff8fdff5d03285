/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor - answers `informerctl doctor`: everything that is wrong, each with its place and with advice
 * (docs/doctor.md); pure.
 */
#ifndef ADMIN_DOCTOR_H
#define ADMIN_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "admin/finding.h"

struct buf;
struct call;
struct history;

/* So many runs in a row make a loop. */
enum { DOCTOR_LOOP_RUNS = 10 };

/* Answers {"findings":[{"id","where","text","advice"}, ...]}; an empty array: nothing is wrong. */
void doctor_answer(struct call *c);

/* Stands before and behind each command of a marked advice. */
#define DOCTOR_MARK '`'

/* Appends what to type or do about a finding, as a person reads it in a terminal. */
void doctor_put_advice(struct buf *out, const struct finding *f);

/* The same, with marks: "mend the file, then `informerctl reload`". */
void doctor_put_marked_advice(struct buf *out, const struct finding *f);

/* Appends the sentence of a fault. Where a person has to decide or to look, which is a held list
 * (docs/design.md "Guard"), a key that is pending, and a failed reload, the advice follows. */
void doctor_put_fault(struct buf *out, const struct finding *f);

/* The word of docs/doctor.md for a finding: "stale". */
const char *doctor_word(enum finding_id id);

/* Does the hook seem to trigger itself? The last DOCTOR_LOOP_RUNS runs of the command are all for one
 * event of the same source and key, each because of a change, each begun within gap_ms of the end of
 * the one before it, and the last one ended within gap_ms of now. Returns the newest run, or NULL. An
 * object that somebody else changes as often looks the same. */
const struct history_run *doctor_find_loop(const struct history *h, uint64_t wall_ns,
                                           uint64_t gap_ms);

#endif
