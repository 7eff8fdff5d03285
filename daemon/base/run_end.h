/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_end - how a program of a run ended: the one form of it, from the helper's child that could
 * not enter the program, through the socket (base/wire), to the history of the hook; pure.
 */
#ifndef BASE_RUN_END_H
#define BASE_RUN_END_H

#include <stdbool.h>
#include <stdint.h>

/* The programs of a hook that the helper runs. OUTPUT and REMOVE are code of the helper: they write
 * and remove the output file. FINGERPRINT, too: it writes the digest of the programs and files of
 * the hook to stdout, as the bytes of a struct digest. */
enum run_program {
    RUN_PROGRAM_COMMAND,
    RUN_PROGRAM_OUTPUT, /* stdin is a sealed memory file with the new content of the output file */
    RUN_PROGRAM_REMOVE,
    RUN_PROGRAM_APPLY,
    RUN_PROGRAM_FINGERPRINT,
    /* stdin is a memory file: struct wire_stray, then the path, any number of times; stdout gets an
     * enum wire_swept for each, as a byte. */
    RUN_PROGRAM_SWEEP,
    /* The files of an object, with files_from: code of the helper. stdin is a sealed memory file:
     * struct wire_member, then the name and the bytes, any number of times. */
    RUN_PROGRAM_FILES,
    /* The program that checks a new output file. OUTPUT and FILES run it, main cannot ask for
     * it. */
    RUN_PROGRAM_CHECK
};

enum run_end_kind {
    RUN_END_EXITED,   /* with the exit code `value` */
    RUN_END_SIGNALED, /* by the signal `value` */
    RUN_END_REFUSED /* the step `stage` failed with the errno `value`, and no program was entered */
};

/* Why main cut a run short. */
enum run_cut {
    RUN_CUT_NONE,    /* main did not, or informerd is stopping */
    RUN_CUT_TIMEOUT, /* the timeout had passed */
    RUN_CUT_FULL,    /* the command printed more than an output file may have */
    RUN_CUT_MEMORY,  /* ... than main has memory for */
    /* The command has succeeded, but no file could be made of its stdout; or informerd stops before
     * the run was started. */
    RUN_CUT_GIVEN_UP
};

/* The limit of its cgroup that a program has met. */
enum run_limit {
    RUN_LIMIT_NONE,
    RUN_LIMIT_MEMORY, /* the kernel has killed a process of it for lack of memory */
    RUN_LIMIT_PIDS    /* a new process was refused: pids_max, or TasksMax= of the unit */
};

/* The results of OUTPUT and REMOVE, and the steps that can fail. */
enum run_stage {
    RUN_STAGE_NONE,
    /* With EXITED, of OUTPUT, REMOVE and FILES. SAME: the files had the wanted bytes already, or
     * there was no file to remove. FILES: REMOVED if the input had nothing to write. */
    RUN_STAGE_SAME,
    RUN_STAGE_WRITTEN,
    RUN_STAGE_REMOVED,
    /* With REFUSED: in main. FIELDS: the run cannot get its fields or its file. */
    RUN_STAGE_FIELDS,
    RUN_STAGE_MEMORY_FILE,
    RUN_STAGE_SEND,
    /* In the helper. */
    RUN_STAGE_RECEIVE,
    RUN_STAGE_CONCURRENCY,
    RUN_STAGE_ENVIRONMENT,
    RUN_STAGE_PIPE,
    RUN_STAGE_FORK,
    RUN_STAGE_FILES,
    RUN_STAGE_CGROUP, /* or in its child */
    /* In its child. */
    RUN_STAGE_SETPGID,
    RUN_STAGE_SIGNALS,
    RUN_STAGE_DESCRIPTORS,
    RUN_STAGE_LIMITS,
    RUN_STAGE_TRUST,
    RUN_STAGE_OUTPUT,
    RUN_STAGE_SETGROUPS,
    RUN_STAGE_SETGID,
    RUN_STAGE_SETUID,
    RUN_STAGE_CAPABILITIES,
    RUN_STAGE_PDEATHSIG,
    RUN_STAGE_CHDIR,
    RUN_STAGE_NO_NEW_PRIVILEGES,
    RUN_STAGE_EXEC,
    /* Of OUTPUT, REMOVE and FILES. TEMPLATE: trying again does not help, as the names of the object make
     * no path; value is EINVAL or ENAMETOOLONG. */
    RUN_STAGE_TEMPLATE,
    RUN_STAGE_INPUT,
    RUN_STAGE_FOLDER,
    RUN_STAGE_TARGET,
    RUN_STAGE_CREATE,
    RUN_STAGE_WRITE,
    RUN_STAGE_OWNER,
    RUN_STAGE_MODE,
    RUN_STAGE_FSYNC,
    RUN_STAGE_RENAME,
    RUN_STAGE_REMOVE,
    RUN_STAGE_FSYNC_FOLDER,
    /* Of FINGERPRINT and SWEEP. */
    RUN_STAGE_READ,
    RUN_STAGE_SWEEP,
    RUN_STAGES
};

enum { RUN_END_COMM_SIZE = 16 /* the name of a process, as the kernel cuts it */ };

/* All zero is a program that has ended well. Without padding, as the bytes go through the
 * socket. */
struct run_end {
    enum run_program program;
    enum run_end_kind kind;
    enum run_stage stage;
    int32_t value;    /* exit code, signal or errno */
    enum run_cut cut; /* set by main */
    uint32_t killed;  /* 1: a signal of main was sent before its end */
    /* User and system time of the processes in its cgroup; without one, of the program and of the
     * children that it waited for. In main: of all programs of the run. */
    uint64_t cpu_us;
    uint64_t memory_peak; /* bytes of its cgroup at most; 0 = not known. In main: of any program */
    enum run_limit limit;
    /* Processes that a good program has left, and that were killed (leave = "kill"). */
    uint32_t cleared;
    /* Processes of the run that still live. After a good end they are spared; after a bad one they
     * could not be killed within 5 s, or not at all. 0 without a cgroup. */
    uint32_t left;
    int32_t left_pid;                  /* one of them; 0 = none */
    char left_comm[RUN_END_COMM_SIZE]; /* its name, printable; "" = none */
    /* Of FILES, and of the CHECK that it runs: */
    uint32_t member;  /* the file that failed, counted from 1 in the order of the input; 0 = none */
    uint32_t changed; /* after a good end: how many files were written or removed */
};

/* The end of a program that was not entered: this step failed with this errno. */
struct run_end run_end_refused(enum run_program program, enum run_stage stage, int error);

/* Notes why main had the program signaled; NONE = it did not. A kill after the timeout only counts if
 * the helper carried it out: when main or the helper stood still for a while, the program may have
 * ended in time (docs/decisions.md "The helper says whether a timeout killed a run"). */
void run_end_cut(struct run_end *end, enum run_cut cut);

/* The end of a further program of the same run: adds the time and memory that the programs before have used,
 * and the processes of them that were killed. Names a process that they have left, if the last program names
 * none. */
void run_end_follow(struct run_end *end, const struct run_end *before);

/* The limit that a bad end is explained by, as the rest of a sentence: ", out of memory (...)"; or "". */
const char *run_end_limit(const struct run_end *end);

/* Did the program exit with 0, and was it not cut short? */
bool run_end_is_good(const struct run_end *end);

/* The names of the object make no fields or no path: trying again helps only after a change. */
bool run_end_is_unfit(const struct run_end *end);

/* "exec", "fsync folder"; "" for NONE. */
const char *run_stage_name(enum run_stage stage);

/* How the run left its output file, "same", "written" or "removed"; NULL = nothing. */
const char *run_end_file(const struct run_end *end);

#endif
