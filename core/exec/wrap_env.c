/* SPDX-License-Identifier: MIT */
/* The child's environment, built from nothing. Nothing here reads a variable of the runtime's
 * own. */
#include "exec/exec.h"

#include <string.h>

struct env {
	struct arena *arena;
	char **items;
	size_t count, cap;
	bool failed;
};

static size_t find(const struct env *e, const char *name)
{
	size_t n = strlen(name), i;

	for (i = 0; i < e->count; i++)
		if (strncmp(e->items[i], name, n) == 0 && e->items[i][n] == '=')
			break;
	return i;
}

/* A later setting of a name replaces the earlier. */
static void put(struct env *e, size_t at, char *item)
{
	if (!item || at >= e->cap) {
		e->failed = true;
		return;
	}
	e->items[at] = item;
	if (at == e->count)
		e->count++;
}

static void set(struct env *e, const char *name, const char *value)
{
	put(e, find(e, name), arena_printf(e->arena, "%s=%s", name, value));
}

static void set_all(struct env *e, const struct conf_env *from)
{
	for (size_t i = 0; i < from->count; i++)
		set(e, from->names[i], from->values[i]);
}

/* The values stay in locked memory. */
static void set_binding(struct env *e, const struct run *r)
{
	const struct binding *b = r->binding;

	for (size_t i = 0; i < b->count; i++)
		put(e, find(e, b->env[i].name), (char *)secret_bytes(b->lines[i]));
}

char **wrap_environment(struct run *r, const struct box_view *view)
{
	const struct pack_wrap *w = &r->command->wrap;
	const struct principal *p = &r->principal;
	bool native = r->granted->sandbox.mode == POLICY_NATIVE_LOCAL;
	size_t minted = r->binding ? r->binding->count : 0;
	struct env e = {.arena = &r->arena, .cap = 16 + w->agent_env.count + minted};

	e.items = arena_array(&r->arena, e.cap + 1, sizeof(*e.items));
	if (!e.items)
		return NULL;
	set(&e, "PATH", BOX_PATH);
	set(&e, "LANG", "C.UTF-8");
	set(&e, "HCP_SANDBOX", native ? "native-local" : "sandbox");
	set(&e, "HCP_PACK_ID", r->pack->id);
	set(&e, "HCP_VERB_KEY", r->command->key);
	set(&e, "HCP_RUN_ID", r->id);
	set(&e, "HCP_PRINCIPAL", p->id);
	set(&e, "HCP_TENANT", p->tenant);
	if (p->project)
		set(&e, "HCP_PROJECT_ID", p->project);
	set(&e, "HCP_PACK_ROOT", view->pack);
	set(&e, "HCP_WORKSPACE", w->workspace == PACK_WS_PACK ? view->pack : view->workspace);
	if (view->files && (w->files.count || (minted && r->pack->mint->deliver_file)))
		set(&e, "HCP_FILES", view->files);
	set(&e, "HOME", view->tmp);
	/* below tier strong /tmp is the host's, and closed */
	if (strcmp(view->tmp, "/tmp") != 0)
		set(&e, "TMPDIR", view->tmp);
	/* Landlock sees the ports of TCP only, so no UDP is let out and names are asked for
	 * over TCP: resolv.conf(5) */
	if (r->granted->sandbox.network == POLICY_NET_CONNECT)
		set(&e, "RES_OPTIONS", "use-vc");
	set_all(&e, &w->agent_env);
	if (w->workspace == PACK_WS_WORKSPACE)
		set(&e, w->home_env, view->workspace);
	if (minted && !r->pack->mint->deliver_file)
		set_binding(&e, r);
	return e.failed ? NULL : e.items;
}
