/* SPDX-License-Identifier: MIT */
/* Any pack.yaml with any policy.yaml: loads whole or is refused with a message, never crashes.
 * Input: the manifest, a line "%%", the policy; without that line there is no policy. */
#include "pack/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char mark[] = "\n%%\n";

/* In the order of paths, as the reading of a folder leaves them. */
static bool set_files(struct pack *p, const char *manifest, size_t len, const char *policy,
		      size_t policy_len)
{
	p->files = arena_array(&p->arena, 3, sizeof(*p->files));
	if (!p->files || !manifest || !policy)
		return false;
	p->files[p->file_count++] = (struct pack_file){
	    .path = "pack.yaml", .mode = S_IFREG, .size = len, .text = manifest};
	if (policy_len)
		p->files[p->file_count++] = (struct pack_file){
		    .path = "policy.yaml", .mode = S_IFREG, .size = policy_len, .text = policy};
	p->files[p->file_count++] = (struct pack_file){
	    .path = "verbs/go.lua", .mode = S_IFREG, .size = 9, .text = "return 1\n"};
	return true;
}

/* What a loaded pack promises to those who read it. */
static void check(const struct pack *p)
{
	struct hcp_err err = {0};

	for (size_t i = 0; i < p->command_count; i++) {
		const struct pack_command *c = &p->commands[i];

		if (!c->key || !c->summary || !c->kind)
			abort();
		if (!strcmp(c->kind, "wrap") && (!c->argv || !c->wrap.bin))
			abort();
		if (!strcmp(c->kind, "composite") && !c->script)
			abort();
		if (c->policy && !c->policy->capabilities.count)
			abort();
		if (!strcmp(c->key, "*") && !c->bootstrap)
			abort();
	}
	json_decref(pack_describe(p, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *cut = size ? memmem(text, size, mark, sizeof(mark) - 1) : NULL;
	size_t len = cut ? (size_t)(cut - text) + 1 : size;
	size_t rest = cut ? size - len - (sizeof(mark) - 2) : 0;
	struct pack *p = calloc(1, sizeof(*p));
	struct hcp_err err = {0};

	if (!p)
		return 0;
	p->fd = -1;
	p->id = "demo";
	p->shown = "packs/demo";
	if (set_files(p, arena_strndup(&p->arena, text, len), len,
		      arena_strndup(&p->arena, text + size - rest, rest), rest)) {
		if (pack_load(p, NULL, &err) == 0)
			check(p);
		else if (err.code == HCP_E_NONE || !err.text[0])
			abort();
	}
	pack_close(p);
	return 0;
}
