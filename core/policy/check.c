/* SPDX-License-Identifier: MIT */
/* A pack meets the operator's block for it: the pin, the overlays, the limits. Without a block
 * the defaults here hold: no program may run, and what does is closed in. */
#include "policy/load.h"

#include <stdlib.h>
#include <string.h>

static const struct policy_pack fallback = {
    .pack_id = NULL,
    .sandbox.limits =
	{
	    .timeout_ms = 30 * 1000,
	    .cpu_ms = 10 * 1000,
	    .memory = INT64_C(512) << 20,
	    .output = INT64_C(8) << 20,
	    .file = INT64_C(64) << 20,
	    .processes = 64,
	    .open_files = 256,
	    .workspace = INT64_C(1) << 30,
	},
};

const struct policy_pack *policy_pack_default(void)
{
	return &fallback;
}

static int to_block(const void *id, const void *block)
{
	return strcmp(id, ((const struct policy_block *)block)->pack.pack_id);
}

const struct policy_pack *policy_pack(const struct policy *p, const char *pack_id)
{
	const struct policy_block *b = NULL;

	if (p->block_count)
		b = bsearch(pack_id, p->blocks, p->block_count, sizeof(*p->blocks), to_block);
	return b ? &b->pack : NULL;
}

const struct policy_pack *policy_pack_at(const struct policy *p, size_t i)
{
	return i < p->block_count ? &p->blocks[i].pack : NULL;
}

const struct policy_overlay *policy_overlay(const struct policy_pack *pp, const char *verb_key)
{
	for (size_t i = 0; i < pp->overlay_count; i++)
		if (strcmp(pp->overlays[i].verb_key, verb_key) == 0)
			return &pp->overlays[i];
	return NULL;
}

static bool hands_over_its_program(const struct pack *pack)
{
	for (size_t i = 0; i < pack->command_count; i++)
		if (pack->commands[i].bootstrap)
			return true;
	return false;
}

/* Whoever wrote it thinks that it does something. */
int policy_check_overlay(const struct policy_overlay *o, const struct pack *pack,
			 struct hcp_err *err)
{
	if (pack_command(pack, o->verb_key))
		return 0;
	return hcp_fail_at(err, o->file, o->line, o->column, "pack %s has no command \"%s\"",
			   pack->id, o->verb_key);
}

static int check_overlays(const struct policy_pack *pp, const struct pack *pack,
			  struct hcp_err *err)
{
	for (size_t i = 0; i < pp->overlay_count; i++)
		if (policy_check_overlay(&pp->overlays[i], pack, err) < 0)
			return -1;
	return 0;
}

const char *policy_signer(const struct policy *p, const char *key)
{
	for (size_t i = 0; key && i < p->signer_count; i++)
		if (strcmp(p->signers[i].key, key) == 0)
			return p->signers[i].name;
	return NULL;
}

int policy_check_signer(const struct policy *p, const char *key, struct hcp_err *err)
{
	if (!p->signers_given || policy_signer(p, key))
		return 0;
	if (!key)
		return hcp_fail(err, HCP_E_DENIED,
				"it is signed by nobody, and the policy names signers");
	return hcp_fail(err, HCP_E_DENIED,
			"it is signed with %s, which is none of the policy's signers", key);
}

int policy_check_pack(const struct policy *p, const struct pack *pack, struct hcp_err *err)
{
	const struct policy_pack *pp = policy_pack(p, pack->id);

	if (pp && pp->digest && strcmp(pp->digest, pack->digest) != 0)
		return hcp_fail(err, HCP_E_DENIED, "its digest is %s, %s:%d allows only %s",
				pack->digest, pp->file, pp->line, pp->digest);
	if (pack->locked && policy_check_signer(p, pack->signer, err) < 0)
		return -1;
	if (hands_over_its_program(pack) && (!pp || !pp->bootstrap))
		return hcp_fail(
		    err, HCP_E_DENIED,
		    "it hands its program to the caller, which needs bootstrap: true "
		    "in the operator's policy");
	return pp ? check_overlays(pp, pack, err) : 0;
}

/* 0 says nothing. */
static int64_t smaller(int64_t a, int64_t b)
{
	return b > 0 && b < a ? b : a;
}

void policy_limits(const struct policy_pack *pp, const struct policy_overlay *overlay,
		   const struct pack_command *cmd, struct policy_limits *out)
{
	static const struct policy_limits none = {0};
	const struct policy_limits *o = overlay ? &overlay->limits : &none;
	const struct policy_limits *base = &pp->sandbox.limits;

	out->timeout_ms = smaller(smaller(base->timeout_ms, o->timeout_ms), cmd->timeout_ms);
	out->cpu_ms = smaller(base->cpu_ms, o->cpu_ms);
	out->memory = smaller(base->memory, o->memory);
	out->output = smaller(base->output, o->output);
	out->file = smaller(base->file, o->file);
	out->processes = smaller(base->processes, o->processes);
	out->open_files = smaller(base->open_files, o->open_files);
	out->workspace = smaller(base->workspace, o->workspace);
}
