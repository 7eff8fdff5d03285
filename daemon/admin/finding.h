/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding - one thing that is wrong, with its place; informerctl doctor shows it.
 */
#ifndef ADMIN_FINDING_H
#define ADMIN_FINDING_H

/* docs/doctor.md has a row for each; the words and the advice are in admin/doctor.c. */
enum finding_id {
    /* `degraded` names these, too (admin/faults). */
    FINDING_RELOAD,      /* the last reload has failed */
    FINDING_STATE,       /* the state cannot be written */
    FINDING_CLUSTER,     /* a cluster is another one, or has not said yet which it is */
    FINDING_KUBECONFIG,  /* a kubeconfig does not exist yet */
    FINDING_CREDENTIALS, /* credentials cannot be read or used */
    FINDING_EXPIRES,     /* a credential has expired, or will soon */
    FINDING_CLOCK,       /* a certificate is not valid yet: the clock may be wrong */
    FINDING_INSECURE,    /* servers are not verified */
    FINDING_FORBIDDEN,   /* the server refuses a watch */
    FINDING_STALE,       /* a watch is silent, or started stale */
    FINDING_WATCH_FAILS, /* a watch has not synced for another reason */
    FINDING_HELD,        /* the guard holds a list */
    FINDING_MEMORY,      /* limits.memory keeps objects out of a watch */
    FINDING_SKIPPED,     /* objects cannot be used */
    FINDING_PENDING,     /* a key waits for too long */
    FINDING_TEXTFILE,    /* metrics.textfile cannot be written */
    /* These are no faults of the daemon itself; FINDING_PARKED must be the first of them. */
    FINDING_PARKED,     /* keys are parked */
    FINDING_LEFT_FILES, /* files of hooks that are not configured any more */
    FINDING_LOOP,       /* a hook seems to trigger itself */
    FINDING_CLOCK_SKEW, /* the clock of a server is not that of this machine */
    FINDING_BUFFERS,    /* a proxy seems to hold back the responses of a watch */
    /* Only the machine tells these (admin_model.inspect). */
    FINDING_TWO_DAEMONS,  /* another daemon has the same configuration file */
    FINDING_NODE_NAME,    /* no Node has the name that watches select by */
    FINDING_PROGRAM,      /* a program cannot be started */
    FINDING_STATE_IN_RAM, /* the state is lost at a boot */
    FINDING_DESCRIPTORS,  /* nearly all descriptors are in use */
    FINDING_UNIT_ORDER,   /* a hook waits for a unit that waits for informerd */
    FINDING_SECRET_FIELD, /* a field takes data of a Secret */
    FINDING_SANDBOX,      /* the sandbox has refused system calls */
    FINDINGS,
};

/* Borrowed for the call. */
struct finding {
    enum finding_id id;
    const char *kind; /* "watch", "hook", "cluster", "state", "reload", "informerd" */
    const char *name; /* of the watch, hook or cluster; "" = there is no name */
    /* for people; it may begin with kind and name ("watch services: ...") */
    const char *sentence;
};

typedef void finding_cb(void *arg, const struct finding *f);

#endif
