/* SPDX-License-Identifier: MIT */
/* A tier is tried, not guessed: a program is run in it as any other. The program is hcp's own
 * init, which is static, always there, and ends with 0 where it is given no plan. Its folder
 * takes the place of the pack. */
#include "box/probe.h"

#include "box/spawn.h"

#include "base/fd.h"
#include "base/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 65534

struct trial {
	struct box_host *host;
	struct arena arena;
	struct policy_bin allowed;
	struct policy_pack granted;
	struct box_bin bin;
	struct box_spec spec;
	char *argv[2], *envp[1];
	char scratch[32]; /* "" where none was made */
	char run_id[32];
	int pack_fd, scratch_fd;
	struct box_probe *out;
};

/* The folder and, as a pack spells it, the name of the init. */
static int split_path(struct trial *t, const char *init)
{
	const char *slash = strrchr(init, '/');

	if (!slash || slash == init)
		return hcp_fail(&t->out->err, HCP_E_CONFIG, "%s: no folder", init);
	t->spec.pack_path = arena_strndup(&t->arena, init, (size_t)(slash - init));
	t->allowed.path = arena_printf(&t->arena, ".%s", slash);
	if (!t->spec.pack_path || !t->allowed.path)
		return hcp_fail_nomem(&t->out->err);
	t->pack_fd =
	    fd_above_stdio(open(t->spec.pack_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (t->pack_fd < 0)
		return hcp_fail_errno(&t->out->err, "%s", t->spec.pack_path);
	return 0;
}

static int open_program(struct trial *t, const char *init, enum policy_tier tier)
{
	int code;

	t->granted = *policy_pack_default();
	t->granted.sandbox.tier = tier;
	t->granted.bins = &t->allowed;
	t->granted.bin_count = 1;
	if (split_path(t, init) < 0)
		return -1;
	return box_bin_open(t->allowed.path, &t->granted, t->pack_fd, t->spec.pack_path,
			    &t->arena, &t->bin, &code, &t->out->err);
}

/* Not in the state folder: a host is judged whether or not its configuration is sound. */
static int make_scratch(struct trial *t)
{
	if (!box_needs_scratch(&t->spec))
		return 0;
	strcpy(t->scratch, "/tmp/hcp-doctor-XXXXXX");
	if (!mkdtemp(t->scratch)) {
		t->scratch[0] = '\0';
		return hcp_fail_errno(&t->out->err, "sandbox: scratch unavailable: /tmp");
	}
	t->scratch_fd =
	    fd_above_stdio(open(t->scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (t->scratch_fd < 0)
		return hcp_fail_errno(&t->out->err, "sandbox: scratch unavailable: %s",
				      t->scratch);
	return box_scratch(&t->spec, t->scratch_fd, t->scratch, &t->arena, &t->out->err);
}

static void fill_spec(struct trial *t, const char *cgroup)
{
	t->spec.cgroup = cgroup;
	snprintf(t->run_id, sizeof(t->run_id), "doctor-%d", getpid());
	t->spec.run_id = t->run_id;
	t->argv[0] = (char *)(uintptr_t)t->allowed.path;
	t->spec.sandbox = &t->granted.sandbox;
	t->spec.limits = t->granted.sandbox.limits;
	t->spec.bin = &t->bin;
	t->spec.argv = t->argv;
	t->spec.envp = t->envp;
	t->spec.pack_fd = t->pack_fd;
	t->spec.jail_fd = -1;
	t->spec.user = NOBODY;
}

static void judge(struct trial *t, const struct box_outcome *o, int rc)
{
	struct box_probe *out = t->out;
	struct box_facts facts;

	memcpy(out->layers, o->layers, sizeof(out->layers));
	if (rc == 0 && o->end == BOX_EXITED && o->code == 0) {
		out->held = true;
	} else if (rc == 0) {
		hcp_fail(&out->err, HCP_E_SYS, "sandbox: a program ended by %s %d",
			 o->end == BOX_EXITED ? "exit" : "signal", o->code);
	} else if (o->refused) {
		out->refused = box_layer_name(o->refused);
		box_facts_read(&facts);
		box_cause_find(&facts, o->refused, o->refused_error, &out->why);
	}
}

static void run(struct trial *t)
{
	struct box_io io = {.cancel_fd = -1};
	struct box_outcome o;
	struct box_plan *plan;
	int rc;

	if (box_plan_build(&t->spec, &t->arena, &plan, &t->out->err) < 0)
		return;
	rc = box_run(t->host, &t->spec, plan, &io, &o, &t->out->err);
	judge(t, &o, rc);
	box_outcome_free(&o);
}

static void trial_free(struct trial *t)
{
	struct hcp_err ignored = {0};

	fd_close(&t->scratch_fd);
	/* in /tmp, where what can't be removed is swept by others */
	if (t->scratch[0] && tree_remove(AT_FDCWD, t->scratch, &ignored) < 0)
		ignored.code = HCP_E_NONE;
	box_bin_close(&t->bin);
	fd_close(&t->pack_fd);
	arena_free(&t->arena);
}

void box_probe(struct box_host *h, const char *init, enum policy_tier tier, const char *cgroup,
	       struct box_probe *out)
{
	struct trial t = {
	    .host = h, .bin = {.fd = -1}, .pack_fd = -1, .scratch_fd = -1, .out = out};

	memset(out, 0, sizeof(*out));
	out->tier = tier == POLICY_LIGHT ? "light" : "strong";
	if (open_program(&t, init, tier) == 0) {
		fill_spec(&t, cgroup);
		if (make_scratch(&t) == 0)
			run(&t);
	}
	trial_free(&t);
}
