/* SPDX-License-Identifier: MIT */
/* From the folder policies/ to a policy, whole or not at all. Every *.yaml counts, as a shell
 * would list them; what looks like one but isn't read would be a rule that somebody believes
 * in, so that is an error. Their order decides nothing: names that two files share are errors.
 */
#include "policy/load.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/trust.h"

#include <dirent.h>
#include <fcntl.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define POLICY_FILES 256

struct files {
	char *names[POLICY_FILES];
	size_t count;
};

static void free_files(struct files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->names[i]);
	f->count = 0;
}

static int add_file(struct files *f, const char *shown, const char *name, struct hcp_err *err)
{
	const char *dot = strrchr(name, '.');

	/* hidden names are left out, as "*.yaml" in a shell leaves them: editors put their
	 * locks and copies there */
	if (!dot || name[0] == '.' ||
	    (strcasecmp(dot, ".yaml") != 0 && strcasecmp(dot, ".yml") != 0))
		return 0;
	if (strcmp(dot, ".yaml") != 0)
		return hcp_fail(err, HCP_E_CONFIG,
				"%s/%s would not be read: rename it to end in .yaml", shown,
				name);
	if (f->count == POLICY_FILES)
		return hcp_fail(err, HCP_E_CONFIG, "%s holds over %d files", shown,
				POLICY_FILES);
	f->names[f->count] = strdup(name);
	if (!f->names[f->count])
		return hcp_fail_nomem(err);
	f->count++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A fault that has no place in a text. */
static int fail_with(const struct policy_loader *l, struct hcp_err *fault, struct hcp_err *err)
{
	conf_faults_add(l->all, fault);
	if (err->code == HCP_E_NONE)
		*err = *fault;
	*fault = (struct hcp_err){0};
	return -1;
}

static int list_files(const struct policy_loader *l, int dirfd, const char *shown,
		      struct files *out, struct hcp_err *err)
{
	struct hcp_err fault = {0};
	AUTO_FD copy = fd_above_stdio(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		hcp_fail_errno(&fault, "%s", shown);
		return fail_with(l, &fault, err);
	}
	fd_steal(&copy);
	do {
		errno = 0;
		e = readdir(dir);
		if (e ? add_file(out, shown, e->d_name, &fault) < 0
		      : errno && hcp_fail_errno(&fault, "%s", shown) < 0)
			rc = fail_with(l, &fault, err);
	} while (e && policy_goes_on(l, rc));
	closedir(dir);
	qsort(out->names, out->count, sizeof(out->names[0]), by_name);
	return rc;
}

/* Names, lengths and bytes: neither moving text to another file nor renaming one keeps it. */
static void digest_file(crypto_hash_sha256_state *hash, const char *name, const char *text,
			size_t len)
{
	char size[32];
	int n = snprintf(size, sizeof(size), "%zu", len);

	crypto_hash_sha256_update(hash, (const unsigned char *)name, strlen(name) + 1);
	crypto_hash_sha256_update(hash, (const unsigned char *)size, (size_t)n + 1);
	crypto_hash_sha256_update(hash, (const unsigned char *)text, len);
}

static void finish_digest(crypto_hash_sha256_state *hash, struct policy *p)
{
	unsigned char sum[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(hash, sum);
	memcpy(p->digest, "sha256:", 7);
	sodium_bin2hex(p->digest + 7, sizeof(p->digest) - 7, sum, sizeof(sum));
}

static int read_files(struct policy_loader *l, int dirfd, const char *shown,
		      const struct files *f, struct hcp_err *err)
{
	crypto_hash_sha256_state hash;
	struct hcp_err fault = {0};
	const char *file;
	char *text;
	size_t len;
	int rc = 0;

	crypto_hash_sha256_init(&hash);
	for (size_t i = 0; policy_goes_on(l, rc) && i < f->count; i++) {
		if (trust_read(dirfd, f->names[i], shown, LIMIT_YAML, &text, &len, &fault) <
		    0) {
			rc = fail_with(l, &fault, err);
			continue;
		}
		digest_file(&hash, f->names[i], text, len);
		file = arena_printf(&l->policy->arena, "%s/%s", shown, f->names[i]);
		rc |= file ? policy_loader_text(l, file, text, len, err) : hcp_fail_nomem(err);
		free(text);
	}
	finish_digest(&hash, l->policy);
	return rc;
}

static int read_folder(struct policy_loader *l, struct hcp_err *err)
{
	const char *shown = arena_printf(&l->policy->arena, "%s/policies", l->root->path);
	struct files files = {.count = 0};
	struct hcp_err why = {0};
	AUTO_FD dir = -1;
	int rc = 0;

	if (!shown)
		return hcp_fail_nomem(err);
	if (trust_open_dir(l->root->fd, "policies", l->root->path, &dir, &why) < 0) {
		if (why.code != HCP_E_SYS || errno != ENOENT)
			return fail_with(l, &why, err);
	} else {
		rc = list_files(l, dir, shown, &files, err);
	}
	if (policy_goes_on(l, rc))
		rc |= read_files(l, dir, shown, &files, err);
	free_files(&files);
	return rc;
}

int policy_loader_begin(struct policy_loader *l, struct policy *p, const struct root *root,
			const struct settings *set, struct hcp_err *err)
{
	memset(l, 0, sizeof(*l));
	l->policy = p;
	l->root = root;
	l->set = set;
	return policy_keep_folders(l, err);
}

/* By name, then in the order of reading. */
static int compare(const char *a, const struct policy_place *at_a, const char *b,
		   const struct policy_place *at_b)
{
	int by_text = strcmp(a, b);

	if (by_text)
		return by_text;
	return at_a->nth < at_b->nth ? -1 : at_a->nth > at_b->nth;
}

static int by_principal(const void *a, const void *b)
{
	const struct policy_principal *x = a, *y = b;

	return compare(x->id, &x->at, y->id, &y->at);
}

static int by_role(const void *a, const void *b)
{
	const struct policy_role *x = a, *y = b;

	return compare(x->name, &x->at, y->name, &y->at);
}

static int by_pack(const void *a, const void *b)
{
	const struct policy_block *x = a, *y = b;

	return compare(x->pack.pack_id, &x->at, y->pack.pack_id, &y->at);
}

static int sort_all(const struct policy_loader *l, struct hcp_err *err)
{
	struct policy *p = l->policy;
	int rc = 0;

	if (p->principal_count)
		qsort(p->principals, p->principal_count, sizeof(*p->principals), by_principal);
	if (p->role_count)
		qsort(p->roles, p->role_count, sizeof(*p->roles), by_role);
	if (p->block_count)
		qsort(p->blocks, p->block_count, sizeof(*p->blocks), by_pack);
	for (size_t i = 1; i < p->principal_count; i++)
		if (strcmp(p->principals[i - 1].id, p->principals[i].id) == 0)
			rc = policy_fail_again(l, err, &p->principals[i - 1].at,
					       &p->principals[i].at, "principal",
					       p->principals[i].id);
	for (size_t i = 1; i < p->role_count; i++)
		if (strcmp(p->roles[i - 1].name, p->roles[i].name) == 0)
			rc = policy_fail_again(l, err, &p->roles[i - 1].at, &p->roles[i].at,
					       "role", p->roles[i].name);
	for (size_t i = 1; i < p->block_count; i++)
		if (strcmp(p->blocks[i - 1].pack.pack_id, p->blocks[i].pack.pack_id) == 0)
			rc = policy_fail_again(l, err, &p->blocks[i - 1].at, &p->blocks[i].at,
					       "the block of pack", p->blocks[i].pack.pack_id);
	return rc;
}

static int check_role(const struct policy_loader *l, const struct policy_grant *g,
		      const char *role, struct hcp_err *err)
{
	struct hcp_err fault = {0};

	if (policy_role_is_defined(l->policy, role))
		return 0;
	hcp_fail_at(&fault, g->at.file, g->roles.line, g->roles.column,
		    "role %s is granted and nowhere defined", role);
	return fail_with(l, &fault, err);
}

int policy_loader_end(struct policy_loader *l, struct hcp_err *err)
{
	const struct policy *p = l->policy;
	int rc = sort_all(l, err);

	for (size_t i = 0; i < p->grant_count && policy_goes_on(l, rc); i++) {
		const struct policy_grant *g = &p->grants[i];

		for (size_t k = 0; k < g->roles.count && policy_goes_on(l, rc); k++)
			rc |= check_role(l, g, g->roles.items[k], err);
	}
	return rc;
}

static int load(struct policy_loader *l, struct hcp_err *err)
{
	int rc = read_folder(l, err);

	if (policy_goes_on(l, rc))
		rc |= policy_loader_end(l, err);
	return rc;
}

int policy_load(struct root *root, const struct settings *set, struct policy **out,
		struct hcp_err *err)
{
	struct policy *p = calloc(1, sizeof(*p));
	struct policy_loader l;

	*out = NULL;
	if (!p)
		return hcp_fail_nomem(err);
	if (policy_loader_begin(&l, p, root, set, err) < 0 || load(&l, err) < 0) {
		policy_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

int policy_load_faults(struct root *root, const struct settings *set, struct policy **out,
		       struct conf_faults *all, struct hcp_err *err)
{
	struct policy_loader l;

	*out = calloc(1, sizeof(**out));
	if (!*out)
		return hcp_fail_nomem(err);
	if (policy_loader_begin(&l, *out, root, set, err) < 0)
		return -1;
	l.all = all;
	return load(&l, err);
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	arena_free(&p->arena);
	free(p);
}

const char *policy_digest(const struct policy *p)
{
	return p ? p->digest : NULL;
}
