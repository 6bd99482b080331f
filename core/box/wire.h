/* SPDX-License-Identifier: MIT */
/* What crosses between the library and its init: the plan on one descriptor, reports on
 * another. The plan is one block without pointers, so that it can be written, sealed, mapped
 * elsewhere and printed; offsets count from its start and 0 means "none". Both sides come from
 * one build (BOX_BUILD_MARK is compared when a runtime opens), so the layout needs no versions.
 */
#ifndef HCP_BOX_WIRE_H
#define HCP_BOX_WIRE_H

#include <stdint.h>

#ifndef HCP_BUILD_ID
#define HCP_BUILD_ID "dev"
#endif
#define BOX_BUILD_MARK "hcp-init of build " HCP_BUILD_ID " wire 5"

/* The init's descriptors, placed by the spawner. */
enum {
	BOX_FD_STDIN = 0, /* a sealed memory file, or closed: the init opens /dev/null */
	BOX_FD_STDOUT,
	BOX_FD_STDERR,
	BOX_FD_PLAN,
	BOX_FD_REPORT,  /* the write end of a pipe */
	BOX_FD_RUNTIME, /* a pidfd of the host: readable once that is gone */
	BOX_FD_FILTER,  /* the seccomp program: an array of struct sock_filter */
	BOX_FD_CGROUP,  /* the run's folder, where it has one */
	BOX_FD_TRACE,   /* the write end of a pipe, where refused calls are to be told */
	BOX_FD_STAGE,   /* PLAN_STAGE_MAKE: the socket that takes the namespaces;
			   PLAN_STAGE_USE: the host's /proc */
	BOX_FD_COUNT
};

/* Every part of the sandbox that can be missing, in the order in which it is set up. The names
 * are what a failure is called by: "sandbox: <layer> unavailable: <why>". */
#define BOX_LAYERS(X)                                                                          \
	X(NONE, "none")                                                                        \
	X(SPAWN, "spawn")                                                                      \
	X(INIT, "init")                                                                        \
	X(CGROUP, "cgroup")                                                                    \
	X(USERNS, "userns")                                                                    \
	X(MNTNS, "mntns")                                                                      \
	X(PIDNS, "pidns")                                                                      \
	X(NETNS, "netns")                                                                      \
	X(IPCNS, "ipcns")                                                                      \
	X(UTSNS, "utsns")                                                                      \
	X(MOUNT, "mount")                                                                      \
	X(PROCFS, "procfs")                                                                    \
	X(ROOT, "root")                                                                        \
	X(IDS, "ids")                                                                          \
	X(BIN, "bin")                                                                          \
	X(CWD, "cwd")                                                                          \
	X(STDIN, "stdin")                                                                      \
	X(LIMITS, "limits")                                                                    \
	X(NNP, "no_new_privs")                                                                 \
	X(LANDLOCK, "landlock")                                                                \
	X(SECCOMP, "seccomp")                                                                  \
	X(TRACE, "trace")                                                                      \
	X(EXEC, "exec")                                                                        \
	X(SUPERVISE, "supervise")
enum box_layer {
#define X(name, text) BOX_LAYER_##name,
	BOX_LAYERS(X)
#undef X
	    BOX_LAYER_COUNT
};

enum plan_kind {
	PLAN_NOTHING = 0, /* refused: an entry that was never filled in */
	PLAN_FOLDER,      /* dst: an empty folder */
	PLAN_LINK,        /* dst -> src */
	PLAN_TEXT,        /* dst: a file with the bytes at src */
	PLAN_BIND,        /* src of the host at dst */
	PLAN_SYSTEM,      /* src of the host at the same place, where it is there; a link is
			     made again, not followed */
	PLAN_FOLLOW,      /* the same, a link is followed */
	PLAN_DEVICE,      /* a device node */
	PLAN_TMPFS,       /* src: mount options */
	PLAN_PROC
};
enum {
	PLAN_WRITE = 1,   /* else read-only */
	PLAN_CHECKED = 2, /* must be device dev, inode ino */
	PLAN_OWNED = 4    /* belongs to the sandbox user */
};
struct plan_entry {
	uint32_t kind, flags;
	uint32_t src, dst; /* offsets of strings */
	uint32_t len, mode;
	uint64_t dev, ino;
};

/* Fresh for each run, also where the rest of the root is shared. */
static inline int plan_is_own(const struct plan_entry *e)
{
	return e->kind == PLAN_TMPFS || e->kind == PLAN_PROC;
}

enum plan_tier { PLAN_TIER_NONE = 0, PLAN_TIER_STRONG, PLAN_TIER_LIGHT, PLAN_TIER_NATIVE };
/* Which sockets a program may make: chooses among the filters. */
enum plan_sockets {
	PLAN_SOCKETS_NONE = 0, /* socketpair only */
	PLAN_SOCKETS_UNIX,     /* own network namespace: AF_UNIX reaches nothing outside */
	PLAN_SOCKETS_TCP,      /* TCP, to the ports that Landlock lets through */
	PLAN_SOCKETS_TCP_UNIX,
	PLAN_SOCKETS_INET,
	PLAN_SOCKETS_INET_UNIX,
	PLAN_SOCKETS_COUNT
};

enum plan_rlimit {
	PLAN_RLIMIT_CPU = 0, /* seconds */
	PLAN_RLIMIT_DATA,
	PLAN_RLIMIT_FSIZE,
	PLAN_RLIMIT_NPROC,
	PLAN_RLIMIT_NOFILE,
	PLAN_RLIMIT_STACK,
	PLAN_RLIMIT_CORE,
	PLAN_RLIMIT_COUNT
};
#define PLAN_RLIMIT_KEEP UINT64_MAX

/* A stage is what runs of one kind have in common, built once: a root without what is each
 * run's own, an empty network, and without root the user namespace that owns them. */
enum plan_stage {
	PLAN_STAGE_NONE = 0, /* everything is built for this run */
	PLAN_STAGE_MAKE,     /* what is shared is built and handed over; nothing runs */
	PLAN_STAGE_USE       /* this process stands in a copy of it; the rest is the run's */
};

#define PLAN_MAGIC 0x35706368u
struct box_plan {
	uint32_t magic, size;
	uint32_t tier, sockets;
	uint32_t stage;
	uint32_t cgroup;     /* joins the one at BOX_FD_CGROUP */
	uint32_t trace;      /* tells refused calls at BOX_FD_TRACE */
	uint32_t user_first; /* clone with NEWUSER (the host isn't root); else drop ids late */
	uint32_t own_net;
	uint32_t uid, gid;
	uint32_t uid_map, gid_map; /* "<id> <id> 1" */
	uint32_t entries, entry_count;
	uint32_t argv, envp; /* arrays of 64-bit offsets, 0 behind; the init adds its base */
	uint32_t argc, envc;
	uint32_t bin, cwd; /* paths inside */
	uint32_t script;   /* executed by its path */
	uint32_t stdin_given;
	uint32_t exec,
	    exec_count;      /* array of 32-bit offsets: what may be executed besides bin */
	uint32_t exec_given; /* 0: everything that the sandbox can see */
	uint32_t ports, port_count; /* array of 32-bit port numbers */
	uint64_t bin_dev, bin_ino;
	uint64_t rlimit[PLAN_RLIMIT_COUNT];
	uint64_t memory, processes; /* as the policy has them; processes 0: not held */
};

enum box_what {
	BOX_REPORT_NOTHING = 0,
	BOX_REPORT_FAILED,  /* layer, error: nothing was executed */
	BOX_REPORT_STARTED, /* the program runs, with Landlock of this version */
	BOX_REPORT_ENDED    /* status as wait4 gives it */
};
/* One write of less than PIPE_BUF: never torn. */
struct box_report {
	uint32_t what, layer;
	int32_t error, status;
	uint32_t layers; /* bits: those that hold so far */
	uint32_t landlock;
	char detail[232]; /* what it was about, NUL-terminated */
};

/* A call of a traced program that was refused; one write, too. */
#define BOX_PATH_TOLD 1023 /* bytes; a longer one is cut */
struct box_denial {
	uint32_t nr;
	int32_t error;
	uint64_t args[3];
	char path[BOX_PATH_TOLD + 1]; /* "" where the call has none */
};

#endif
