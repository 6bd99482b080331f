/* SPDX-License-Identifier: MIT */
/* Every input has a limit in bytes, depth or count; they all stand here so that one reading
 * tells how much a stranger can make the runtime hold. */
#ifndef HCP_BASE_LIMITS_H
#define HCP_BASE_LIMITS_H

#define LIMIT_ENVELOPE       (1024 * 1024) /* an exec envelope, bytes */
#define LIMIT_ENVELOPE_DEPTH 64   /* nesting of an envelope and of values given to scripts */
#define LIMIT_STDOUT_DEPTH   1000 /* nesting of a child's JSON; deeper is text */
#define LIMIT_YAML           (1024 * 1024)      /* one configuration file, bytes */
#define LIMIT_YAML_DEPTH     32                 /* nesting of a configuration file */
#define LIMIT_YAML_NODES     200000             /* nodes of a configuration file */
#define LIMIT_LOCKFILE       (16 * 1024 * 1024) /* hcp.lock, bytes */
#define LIMIT_SCRIPT         (1024 * 1024)      /* one Lua source, bytes */
#define LIMIT_BATCH_RESULTS  (64L << 20)        /* bytes of all results of one exec_all */
#define LIMIT_PACK_FILES     16384              /* files of a pack */
#define LIMIT_PACK_BYTES     (256L << 20)       /* bytes of a pack that are digested */
#define LIMIT_PACK_DEPTH     16                 /* folders of a pack beneath each other */
#define LIMIT_COMMANDS       1024               /* commands of a pack */
#define LIMIT_ID             64                 /* pack id, tenant, project, session: bytes */
#define LIMIT_VERB           128                /* verb key, bytes */
#define LIMIT_PRINCIPAL      256                /* principal id, bytes */
#define LIMIT_ERROR          (64 * 1024) /* `error` made from stderr or by a script, bytes */
#define LIMIT_ARGV_TOKEN                                                                       \
	(128 * 1024 - 1)                /* one argument, bytes: MAX_ARG_STRLEN of the kernel */
#define LIMIT_AUDIT_LINE    (16 * 1024) /* one audit record, bytes, newline included */
#define LIMIT_FINDINGS      10000       /* damages of a log that are told one by one */
#define LIMIT_RUNS          1024        /* runs of a runtime at once where it isn't said */
#define LIMIT_RUNS_ASKED    65536       /* the same where it is */
#define LIMIT_DEPTH         8           /* nested runs */
#define LIMIT_TOKEN         (16 * 1024)
#define LIMIT_SECRET        (64 * 1024) /* one secret, bytes */
#define LIMIT_PATTERN       4096        /* one regular expression of a schema, bytes */
#define LIMIT_PATTERN_STEPS 1000000     /* steps of one match */
#define LIMIT_PATTERN_KIB   65536       /* memory of one match, KiB */
#define LIMIT_PATTERN_MS    1000        /* processor time of all matches of one validation */
#define LIMIT_FAULTS        32          /* faults of a value that are told one by one */
#define LIMIT_DURATION_MS                                                                      \
	(366LL * 24 * 3600 * 1000) /* its nanoseconds fit beside a clock's                     \
				    */
#define LIMIT_TREE_DEPTH 64        /* folders beneath each other in a workspace */

#endif
