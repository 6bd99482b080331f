/* SPDX-License-Identifier: MIT */
/* Any policy files: they load whole or are refused with a message, never crash, and what loads
 * keeps its promises. Input: one file or several, a line "%%" between them. */
#include "policy/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char mark[] = "\n%%\n";

/* An empty root, for the whole life of the process. */
static const struct root *world(const struct settings **set)
{
	static struct root root = {.fd = -1, .state_fd = -1, .data_fd = -1};
	static struct settings settings;
	static char dir[] = "/tmp/hcp-fuzz-XXXXXX";
	struct root_request req = {.root = dir, .state = "/nonexistent/state"};
	struct hcp_err err = {0};

	*set = &settings;
	if (root.fd >= 0)
		return &root;
	/* removed at once: the descriptor keeps it, empty */
	if (!mkdtemp(dir) || root_open(&root, &settings, &req, &err) < 0 || rmdir(dir) < 0)
		abort();
	return &root;
}

static void check_limits(const struct policy_limits *l)
{
	if (l->timeout_ms <= 0 || l->cpu_ms <= 0 || l->memory <= 0 || l->output <= 0 ||
	    l->file <= 0 || l->processes <= 0 || l->open_files <= 0 || l->workspace <= 0)
		abort();
}

static void check_folders(const struct policy_folder *f, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (f[i].path[0] != '/' || !f[i].path[1] || strstr(f[i].path, "/.."))
			abort();
}

static void check_block(const struct policy *p, const struct policy_pack *pp)
{
	const struct policy_sandbox *s = &pp->sandbox;
	const struct pack_command cmd = {.key = "x"};
	struct policy_limits l;

	if (policy_pack(p, pp->pack_id) != pp)
		abort();
	if ((s->mode == POLICY_NATIVE_LOCAL) != !!s->because)
		abort();
	if (s->mode == POLICY_NATIVE_LOCAL && (s->network || s->read_count || s->write_count))
		abort();
	if ((s->network == POLICY_NET_CONNECT) != (s->connect_count > 0))
		abort();
	if (s->user && strcmp(s->user, "0") == 0)
		abort();
	check_folders(s->read, s->read_count);
	check_folders(s->write, s->write_count);
	check_folders(pp->workspaces, pp->workspace_count);
	for (size_t i = 0; i < pp->overlay_count; i++) {
		const struct policy_overlay *o = &pp->overlays[i];

		if (policy_overlay(pp, o->verb_key) != o || (o->deny && !*o->deny))
			abort();
		policy_limits(pp, o, &cmd, &l);
		check_limits(&l);
		if (l.memory > s->limits.memory || l.timeout_ms > s->limits.timeout_ms)
			abort();
	}
}

/* Whoever no grant names has nothing. */
static void check_stranger(const struct policy *p, struct arena *a)
{
	static const char *cap[] = {"\x01nobody.has"};
	const struct pack_policy need = {.capabilities = {.count = 1, .items = cap}};
	const struct pack_command cmd = {.key = "x", .policy = &need};
	const struct pack pack = {.id = "p"};
	struct principal who = {.id = "\x01stranger"};
	struct hcp_err err = {0};

	for (size_t i = 0; i < p->grant_count; i++) {
		const struct policy_grant *g = &p->grants[i];

		if (g->principal && g->principal[strlen(g->principal) - 1] == '*')
			return;
	}
	if (policy_identity(p, &who, NULL, NULL, false, a, &err) < 0 ||
	    policy_permit(p, &who, &pack, &cmd, NULL, &err) == 0)
		abort();
}

static int load(struct policy_loader *l, const char *text, size_t size, struct hcp_err *err)
{
	char name[32];

	for (int n = 0; n < 16; n++) {
		const char *cut = size ? memmem(text, size, mark, sizeof(mark) - 1) : NULL;
		size_t len = cut ? (size_t)(cut - text) + 1 : size;

		snprintf(name, sizeof(name), "%d.yaml", n);
		if (policy_loader_text(l, arena_strdup(&l->policy->arena, name), text, len,
				       err) < 0)
			return -1;
		if (!cut)
			break;
		text += len + sizeof(mark) - 2;
		size -= len + sizeof(mark) - 2;
	}
	return policy_loader_end(l, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct settings *set;
	const struct root *root = world(&set);
	struct policy *p = calloc(1, sizeof(*p));
	char *text = malloc(size + 1); /* exactly as long as it is, for the sanitizer */
	struct policy_loader l;
	struct hcp_err err = {0};

	if (!p || !text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (policy_loader_begin(&l, p, root, set, &err) < 0)
		abort();
	if (load(&l, text, size, &err) == 0) {
		for (size_t i = 0; i < p->block_count; i++)
			check_block(p, &p->blocks[i].pack);
		check_stranger(p, &p->arena);
	} else if (err.code != HCP_E_CONFIG || !err.text[0] || !err.file[0]) {
		abort();
	}
	free(text);
	policy_free(p);
	return 0;
}
