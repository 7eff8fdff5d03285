/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work - the programs that are functions of the helper, each one run in a process of its own as the
 * `work` of a child_spec; driver. helper/output_run, output_sweep and fingerprint have one or more of
 * them.
 */
#ifndef HELPER_WORK_H
#define HELPER_WORK_H

#include "helper/child.h"

/* OUTPUT: makes the path of the hook's output file out of INFORMERD_NAMESPACE, INFORMERD_NAME and
 * INFORMERD_CLUSTER of spec->env, and writes the whole of stdin, a sealed memory file, to it. The file
 * is the old or the new one at any moment (docs/design.md "Output files"). Signals are blocked. If a
 * signal that ends a process has come before the rename, the old file stays, the new one is removed,
 * and the end is SIGNALED. Otherwise *out is a good end with WRITTEN or SAME, the failure of the
 * check, or REFUSED with the step that failed. */
void output_run_write(const struct child_spec *spec, struct run_end *out);

/* REMOVE: removes that file, and the folders of the path that are empty then, except the fixed one.
 * *out: a good end with REMOVED or SAME, or REFUSED. */
void output_run_remove(const struct child_spec *spec, struct run_end *out);

/* FILES: writes and removes the files of one object, which stdin names (RUN_PROGRAM_FILES in
 * base/run_end.h), each with its own ${key}: first those to write, as OUTPUT does, then those to
 * remove. No file is renamed before all new ones are complete and have passed the check. *out: a
 * good end with WRITTEN, REMOVED or SAME and `changed`, or a bad one with the `member` that
 * failed. */
void output_files_work(const struct child_spec *spec, struct run_end *out);

/* SWEEP: reads stray files (docs/design.md "Stray files") from stdin, WIRE_SWEEP_MAX at most, removes
 * them unless somebody has changed them, and answers on stdout (RUN_PROGRAM_SWEEP in base/run_end.h).
 * main names them by path, and knows them from the state, which belongs to the user of main. If main
 * has fewer rights than the helper, no file outside of the folder that the hook's output has now is
 * touched (docs/decisions.md "The helper does not trust the state where it removes files"). Of a hook
 * that is not configured any more only files with a mark are removed (helper/output_mark). *out: a
 * good end, or REFUSED with SWEEP if stdin or stdout fails. */
void output_sweep_work(const struct child_spec *spec, struct run_end *out);

/* FINGERPRINT: makes the digests of the files of the hook (helper_hook.contents), which main may have
 * no right to read. They show at a start and at a reload whether the hook has changed (docs/design.md
 * "Renewal"). Follows links, reads 64 MiB of each file at most, and takes the size of a larger one into
 * account, too. Writes a struct digest_forms to stdout. A path that is no file, does not exist or
 * cannot be opened counts as "no file". *out: a good end, or REFUSED with READ when the system failed
 * (EIO, EMFILE) and another try may help. Signals end the process. */
void fingerprint_work(const struct child_spec *spec, struct run_end *out);

#endif
