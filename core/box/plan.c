/* SPDX-License-Identifier: MIT */
/* From what is asked for to a plan: a block of data without pointers, in which everything that
 * the init will do stands already decided. Pure but for the identity of descriptors and of this
 * process; it starts, mounts and opens nothing. */
#include "box/plan.h"

#include <stdio.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define DOMAIN_PORT 53

bool plan_as_root(void)
{
	return geteuid() == 0;
}

enum plan_tier plan_tier(const struct policy_sandbox *s)
{
	if (s->mode == POLICY_NATIVE_LOCAL)
		return PLAN_TIER_NATIVE;
	if (s->mode != POLICY_SANDBOX)
		return PLAN_TIER_NONE;
	switch (s->tier) {
	case POLICY_STRONG:
		return PLAN_TIER_STRONG;
	case POLICY_LIGHT:
		return PLAN_TIER_LIGHT;
	}
	return PLAN_TIER_NONE;
}

const char *plan_tier_name(uint32_t tier)
{
	switch ((enum plan_tier)tier) {
	case PLAN_TIER_STRONG:
		return "strong";
	case PLAN_TIER_LIGHT:
		return "light";
	case PLAN_TIER_NATIVE:
		return "native-local";
	case PLAN_TIER_NONE:
		break;
	}
	return "";
}

const char *plan_limits_held(const struct box_plan *p)
{
	return p->cgroup ? "cgroup" : "process";
}

void plan_ids(const struct box_spec *spec, uid_t *uid, gid_t *gid)
{
	*uid = plan_as_root() ? spec->user : geteuid();
	*gid = plan_as_root() ? (gid_t)spec->user : getegid();
}

void box_view(const struct box_spec *spec, struct box_view *out)
{
	bool ephemeral = spec->jail == BOX_JAIL_TMPFS;

	if (plan_tier(spec->sandbox) == PLAN_TIER_STRONG) {
		*out = (struct box_view){"/pack", "/workspace", "/files", "/tmp"};
		return;
	}
	out->pack = spec->pack_path;
	out->workspace = ephemeral ? spec->scratch_jail : spec->jail_path;
	out->files = spec->scratch_files;
	out->tmp = spec->scratch_tmp;
}

/* Writes the block; with no base it only measures, so that one allocation of the right size
 * holds it and no half-grown copy of the environment is left in freed memory. */
struct writer {
	unsigned char *base;
	size_t len;
};

static uint32_t put(struct writer *w, const void *data, size_t len, size_t align)
{
	size_t at = (w->len + align - 1) & ~(align - 1);

	if (w->base && data && len)
		memcpy(w->base + at, data, len);
	w->len = at + len;
	return (uint32_t)at;
}

static uint32_t put_string(struct writer *w, const char *s)
{
	return s ? put(w, s, strlen(s) + 1, 1) : 0;
}

static uint32_t put_vector(struct writer *w, char *const *v, uint32_t *count)
{
	uint32_t n = 0, at;
	uint64_t offset;

	while (v[n])
		n++;
	*count = n;
	at = put(w, NULL, (n + (size_t)1) * sizeof(offset), sizeof(offset));
	for (uint32_t i = 0; i < n; i++) {
		offset = put_string(w, v[i]);
		if (w->base)
			memcpy(w->base + at + i * sizeof(offset), &offset, sizeof(offset));
	}
	return at;
}

static uint32_t put_entries(struct writer *w, const struct plan_items *l)
{
	uint32_t at = put(w, NULL, l->count * sizeof(struct plan_entry), 8);

	for (size_t i = 0; i < l->count; i++) {
		const struct plan_item *it = &l->items[i];
		struct plan_entry e = {.kind = it->kind,
				       .flags = it->flags,
				       .len = (uint32_t)it->len,
				       .mode = it->mode,
				       .dev = it->dev,
				       .ino = it->ino};

		e.dst = put_string(w, it->dst);
		e.src = it->kind == PLAN_TEXT ? put(w, it->src, it->len, 1)
					      : put_string(w, it->src);
		if (w->base)
			memcpy(w->base + at + i * sizeof(e), &e, sizeof(e));
	}
	return at;
}

/* A bare name may be any of the search path's; those that aren't there do no harm. */
static int exec_paths(const struct box_spec *spec, struct arena *a, struct conf_strings *out)
{
	const struct conf_strings *names = &spec->exec;
	struct box_view view;
	const char *dir, *end;

	box_view(spec, &view);
	out->items = arena_array(a, names->count * 3 + 1, sizeof(*out->items));
	for (size_t i = 0; out->items && i < names->count; i++) {
		const char *name = names->items[i];

		if (name[0] == '/') {
			out->items[out->count++] = name;
		} else if (name[0] == '.') {
			out->items[out->count++] = arena_printf(a, "%s/%s", view.pack, name);
		} else {
			for (dir = BOX_PATH; *dir; dir = *end ? end + 1 : end) {
				end = strchrnul(dir, ':');
				out->items[out->count++] =
				    arena_printf(a, "%.*s/%s", (int)(end - dir), dir, name);
			}
		}
	}
	for (size_t i = 0; out->items && i < out->count; i++)
		if (!out->items[i])
			return -1;
	return out->items ? 0 : -1;
}

static uint32_t put_exec(struct writer *w, const struct conf_strings *paths)
{
	uint32_t at = put(w, NULL, paths->count * sizeof(at), sizeof(at)), offset;

	for (size_t i = 0; i < paths->count; i++) {
		offset = put_string(w, paths->items[i]);
		if (w->base)
			memcpy(w->base + at + i * sizeof(offset), &offset, sizeof(offset));
	}
	return at;
}

/* The ports of the policy and that of names, which are asked for over TCP there: wrap_env.c. */
static size_t port_count(const struct policy_sandbox *s)
{
	return s->network == POLICY_NET_CONNECT ? s->connect_count + 1 : 0;
}

static uint32_t put_ports(struct writer *w, const struct policy_sandbox *s)
{
	uint32_t at = put(w, NULL, port_count(s) * sizeof(at), sizeof(at)), port;

	for (size_t i = 0; i < port_count(s); i++) {
		port = i < s->connect_count ? s->connect_ports[i] : DOMAIN_PORT;
		if (w->base)
			memcpy(w->base + at + i * sizeof(port), &port, sizeof(port));
	}
	return at;
}

/* Everything of variable size. The header is filled in on the measuring pass, too: the offsets
 * are the same both times. */
static void write_plan(struct writer *w, const struct box_spec *spec,
		       const struct plan_items *places, const struct conf_strings *exec,
		       struct box_plan *p)
{
	char map[32];
	struct box_view view;

	put(w, p, sizeof(*p), 8);
	p->entries = put_entries(w, places);
	p->argv = put_vector(w, spec->argv, &p->argc);
	p->envp = put_vector(w, spec->envp, &p->envc);
	p->exec = put_exec(w, exec);
	p->ports = put_ports(w, spec->sandbox);
	p->bin = put_string(w, spec->bin->inside);
	box_view(spec, &view);
	p->cwd = put_string(w, spec->cwd_jail ? view.workspace : view.pack);
	snprintf(map, sizeof(map), "%u %u 1", p->uid, p->uid);
	p->uid_map = put_string(w, map);
	snprintf(map, sizeof(map), "%u %u 1", p->gid, p->gid);
	p->gid_map = put_string(w, map);
}

static enum plan_sockets sockets_of(const struct box_spec *spec)
{
	bool strong = plan_tier(spec->sandbox) == PLAN_TIER_STRONG;

	switch (spec->sandbox->network) {
	case POLICY_NET_NONE:
		return strong ? PLAN_SOCKETS_UNIX : PLAN_SOCKETS_NONE;
	case POLICY_NET_CONNECT:
		return strong ? PLAN_SOCKETS_TCP_UNIX : PLAN_SOCKETS_TCP;
	case POLICY_NET_HOST:
		return strong ? PLAN_SOCKETS_INET_UNIX : PLAN_SOCKETS_INET;
	}
	return PLAN_SOCKETS_NONE;
}

static void set_limits(const struct policy_limits *l, struct box_plan *p)
{
	p->memory = (uint64_t)l->memory;
	p->processes = p->cgroup || p->tier == PLAN_TIER_STRONG ? (uint64_t)l->processes : 0;
	for (int i = 0; i < PLAN_RLIMIT_COUNT; i++)
		p->rlimit[i] = PLAN_RLIMIT_KEEP;
	p->rlimit[PLAN_RLIMIT_CPU] = (uint64_t)(l->cpu_ms + 999) / 1000;
	if (!p->cgroup) /* counts what is asked for, not what is used: threads' stacks, too */
		p->rlimit[PLAN_RLIMIT_DATA] = p->memory;
	p->rlimit[PLAN_RLIMIT_FSIZE] = (uint64_t)l->file;
	p->rlimit[PLAN_RLIMIT_NOFILE] = (uint64_t)l->open_files;
	p->rlimit[PLAN_RLIMIT_STACK] = 8u << 20;
	p->rlimit[PLAN_RLIMIT_CORE] = 0;
	/* The kernel counts a user's processes in a user namespace; the init is one of them. In
	 * the host's namespace the count would be of everything that the user runs. */
	if (p->tier == PLAN_TIER_STRONG)
		p->rlimit[PLAN_RLIMIT_NPROC] = (uint64_t)l->processes + 1;
}

static int check_limits(const struct policy_limits *l, struct hcp_err *err)
{
	if (l->timeout_ms <= 0 || l->cpu_ms <= 0 || l->memory <= 0 || l->output <= 0 ||
	    l->file <= 0 || l->processes <= 0 || l->open_files <= 0)
		return hcp_fail(err, HCP_E_INVALID,
				"sandbox: limits unavailable: one of them is not set");
	return 0;
}

static int check_spec(const struct box_spec *spec, struct hcp_err *err)
{
	enum plan_tier tier = plan_tier(spec->sandbox);
	uid_t uid;
	gid_t gid;

	if (tier == PLAN_TIER_NONE)
		return hcp_fail(err, HCP_E_INVALID, "sandbox: no tier was chosen");
	if (tier == PLAN_TIER_NATIVE && plan_as_root())
		return hcp_fail(err, HCP_E_DENIED,
				"sandbox: native-local unavailable: the runtime is root, and "
				"the program would be, too");
	plan_ids(spec, &uid, &gid);
	if (uid == 0 || uid == (uid_t)-1)
		return hcp_fail(err, HCP_E_DENIED,
				"sandbox: ids unavailable: uid %u can't be the sandbox's user",
				(unsigned)uid);
	if (tier != PLAN_TIER_STRONG && ((spec->file_count && !spec->scratch_files) ||
					 (spec->jail == BOX_JAIL_TMPFS && !spec->scratch_jail)))
		return hcp_fail(
		    err, HCP_E_INVALID,
		    "sandbox: scratch unavailable: no folder was made for this run");
	if (spec->cwd_jail && spec->jail == BOX_JAIL_NONE)
		return hcp_fail(err, HCP_E_INVALID, "sandbox: no workspace");
	if (!spec->argv || !spec->argv[0] || !spec->envp || !spec->bin->inside)
		return hcp_fail(err, HCP_E_INVALID, "sandbox: no program was named");
	return check_limits(&spec->limits, err);
}

static void set_header(const struct box_spec *spec, const struct plan_items *places,
		       struct box_plan *p)
{
	uid_t uid;
	gid_t gid;

	plan_ids(spec, &uid, &gid);
	p->magic = spec->only_shown ? 0 : PLAN_MAGIC;
	p->tier = plan_tier(spec->sandbox);
	p->sockets = sockets_of(spec);
	p->user_first = p->tier == PLAN_TIER_STRONG && !plan_as_root();
	p->own_net = p->tier == PLAN_TIER_STRONG && spec->sandbox->network == POLICY_NET_NONE;
	p->uid = uid;
	p->gid = gid;
	p->entry_count = (uint32_t)places->count;
	p->cgroup = spec->cgroup != NULL;
	p->trace = spec->trace;
	p->script = spec->bin->script;
	p->bin_dev = spec->bin->dev;
	p->bin_ino = spec->bin->ino;
	p->stdin_given = spec->stdin_data != NULL;
	p->exec_given = spec->exec_given;
	p->port_count = (uint32_t)port_count(spec->sandbox);
	set_limits(&spec->limits, p);
}

/* What no kernel takes: MAX_ARG_STRLEN is 128 KiB, and all of argv and envp at most 6 MiB. A
 * smaller total may still be refused, by the kernel itself. */
#define PLAN_MAX (64u << 20)

int box_plan_build(const struct box_spec *spec, struct arena *a, struct box_plan **out,
		   struct hcp_err *err)
{
	struct plan_items places = {.arena = a};
	struct conf_strings exec = {0};
	struct box_plan head = {0};
	struct writer w = {0};

	*out = NULL;
	if (check_spec(spec, err) < 0 || plan_places(spec, &places, err) < 0)
		return -1;
	if (exec_paths(spec, a, &exec) < 0)
		return hcp_fail_nomem(err);
	set_header(spec, &places, &head);
	head.exec_count = (uint32_t)exec.count;
	write_plan(&w, spec, &places, &exec, &head);
	if (w.len > PLAN_MAX)
		return hcp_fail(err, HCP_E_INVALID, "invalid args: too long");
	head.size = (uint32_t)w.len;
	w.base = arena_alloc(a, w.len);
	if (!w.base)
		return hcp_fail_nomem(err);
	w.len = 0;
	write_plan(&w, spec, &places, &exec, &head);
	*out = (struct box_plan *)(void *)w.base;
	**out = head;
	return 0;
}

void box_plan_wipe(struct box_plan *plan)
{
	if (plan)
		sodium_memzero(plan, plan->size);
}
