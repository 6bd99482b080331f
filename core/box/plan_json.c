/* SPDX-License-Identifier: MIT */
/* The plan for people: what a program would find, as JSON. It reads the very block that the
 * init would read, so that what is shown is what would be done. It never shows a value of the
 * environment or the content of a file: those may be secret. */
#include "box/plan.h"

static const char *text(const struct box_plan *p, uint32_t at)
{
	return at ? (const char *)p + at : "";
}

static const char *kind_name(uint32_t kind)
{
	switch ((enum plan_kind)kind) {
	case PLAN_FOLDER:
		return "folder";
	case PLAN_LINK:
		return "link";
	case PLAN_TEXT:
		return "file";
	case PLAN_BIND:
		return "bind";
	case PLAN_SYSTEM:
	case PLAN_FOLLOW:
		return "system";
	case PLAN_DEVICE:
		return "device";
	case PLAN_TMPFS:
		return "tmpfs";
	case PLAN_PROC:
		return "proc";
	case PLAN_NOTHING:
		break;
	}
	return "nothing";
}

/* "from" stands where the place shows one of the host's; a tmpfs tells its options. */
static json_t *place_json(const struct box_plan *p, const struct plan_entry *e)
{
	const char *source = NULL, *options = NULL;

	if (e->kind == PLAN_TMPFS)
		options = text(p, e->src);
	else if (e->kind != PLAN_TEXT && e->kind != PLAN_FOLDER && e->kind != PLAN_PROC)
		source = text(p, e->src);
	return json_pack("{s:s,s:s,s:b,s:s*,s:s*}", "at", text(p, e->dst), "kind",
			 kind_name(e->kind), "write", (e->flags & PLAN_WRITE) != 0, "from",
			 source, "options", options);
}

static json_t *places_json(const struct box_plan *p)
{
	const struct plan_entry *e = (const void *)((const char *)p + p->entries);
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->entry_count; i++) {
		if (json_array_append_new(list, place_json(p, &e[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *ports_json(const struct box_plan *p)
{
	const uint32_t *ports = (const void *)((const char *)p + p->ports);
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->port_count; i++)
		json_array_append_new(list, json_integer(ports[i]));
	return list;
}

static json_t *network_json(const struct box_plan *p)
{
	switch ((enum plan_sockets)p->sockets) {
	case PLAN_SOCKETS_NONE:
	case PLAN_SOCKETS_UNIX:
		return json_string("none");
	case PLAN_SOCKETS_TCP:
	case PLAN_SOCKETS_TCP_UNIX:
		return json_pack("{s:o}", "connect", ports_json(p));
	case PLAN_SOCKETS_INET:
	case PLAN_SOCKETS_INET_UNIX:
		return json_string("host");
	case PLAN_SOCKETS_COUNT:
		break;
	}
	return NULL;
}

static json_t *exec_json(const struct box_plan *p)
{
	const uint32_t *paths = (const void *)((const char *)p + p->exec);
	json_t *list;

	if (!p->exec_given)
		return json_string("everything in sight");
	list = json_array();
	for (uint32_t i = 0; i < p->exec_count; i++)
		json_array_append_new(list, json_string(text(p, paths[i])));
	return list;
}

/* What the init will report as held; the version of Landlock is the kernel's. */
static json_t *layers_json(const struct box_plan *p)
{
	static const char *const spaces[] = {"userns", "mntns", "pidns", "ipcns", "utsns"};
	json_t *list = json_array();

	if (p->cgroup)
		json_array_append_new(list, json_string("cgroup"));
	for (size_t i = 0; p->tier == PLAN_TIER_STRONG && i < 5; i++)
		json_array_append_new(list, json_string(spaces[i]));
	if (p->own_net)
		json_array_append_new(list, json_string("netns"));
	if (p->tier != PLAN_TIER_NATIVE)
		json_array_append_new(list, json_string("landlock"));
	json_array_append_new(list, json_string("seccomp"));
	return list;
}

static json_t *limits_json(const struct box_plan *p)
{
	const uint64_t *r = p->rlimit;
	json_t *limits = json_pack(
	    "{s:I,s:I,s:I,s:I,s:s}", "cpu_s", (json_int_t)r[PLAN_RLIMIT_CPU], "memory",
	    (json_int_t)p->memory, "file", (json_int_t)r[PLAN_RLIMIT_FSIZE], "open_files",
	    (json_int_t)r[PLAN_RLIMIT_NOFILE], "held", plan_limits_held(p));

	if (p->processes)
		json_object_set_new(limits, "processes",
				    json_integer((json_int_t)p->processes));
	return limits;
}

json_t *box_plan_json(const struct box_plan *p)
{
	return json_pack("{s:s,s:o,s:I,s:I,s:o,s:s,s:s,s:b,s:o,s:o,s:o}", "tier",
			 plan_tier_name(p->tier), "layers", layers_json(p), "uid",
			 (json_int_t)p->uid, "gid", (json_int_t)p->gid, "network",
			 network_json(p), "bin", text(p, p->bin), "cwd", text(p, p->cwd),
			 "stdin", (int)p->stdin_given, "exec", exec_json(p), "limits",
			 limits_json(p), "places", places_json(p));
}
