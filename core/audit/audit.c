/* SPDX-License-Identifier: MIT */
/* A runtime's hold on its log. Opening settles which folder and names are meant and touches no
 * file: looking at packs or explaining a run must not start a log. */
#include "audit/store.h"

#include "base/fd.h"
#include "base/trust.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int set_names(struct audit *a, const char *base, struct hcp_err *err)
{
	const char *dot = strrchr(base, '.');
	size_t stem = dot && dot != base ? (size_t)(dot - base) : strlen(base);

	if (!*base || strlen(base) > STORE_NAME_MAX || strcmp(base, ".") == 0 ||
	    strcmp(base, "..") == 0)
		return hcp_fail(err, HCP_E_CONFIG, "audit.path must end in a file's name");
	snprintf(a->log_name, sizeof(a->log_name), "%s", base);
	snprintf(a->stem, sizeof(a->stem), "%.*s", (int)stem, base);
	snprintf(a->ext, sizeof(a->ext), "%s", base + stem);
	snprintf(a->lock_name, sizeof(a->lock_name), "%s.lock", a->stem);
	snprintf(a->head_name, sizeof(a->head_name), "%s.head", a->stem);
	if (strcmp(a->log_name, a->lock_name) == 0 || strcmp(a->log_name, a->head_name) == 0)
		return hcp_fail(err, HCP_E_CONFIG, "audit.path may not end in .lock or .head");
	return 0;
}

/* The operator's own place: it must be there and be one that only he can write to. */
static int open_given(struct audit *a, const char *path, struct hcp_err *err)
{
	const char *slash = strrchr(path, '/');

	if (path[0] != '/')
		return hcp_fail(err, HCP_E_CONFIG, "audit.path must be absolute: %s", path);
	a->shown = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
	if (!a->shown)
		return hcp_fail_nomem(err);
	if (set_names(a, slash + 1, err) < 0)
		return -1;
	return trust_open_top(a->shown, &a->dir, err);
}

static int check_own_folder(const struct audit *a, struct hcp_err *err)
{
	struct stat st;

	if (fstat(a->dir, &st) < 0)
		return hcp_fail_errno(err, "%s", a->shown);
	if (st.st_uid != geteuid())
		return hcp_fail(err, HCP_E_CONFIG, "%s is owned by uid %u: chown it", a->shown,
				(unsigned)st.st_uid);
	if (st.st_mode & 077)
		return hcp_fail(err, HCP_E_CONFIG, "%s is open to others: chmod 700 it",
				a->shown);
	return 0;
}

static int open_default(struct audit *a, struct root *root, struct hcp_err *err)
{
	if (root->state_fd < 0 && root_open_state(root, err) < 0)
		return -1;
	if (asprintf(&a->shown, "%s/audit", root->state) < 0) {
		a->shown = NULL;
		return hcp_fail_nomem(err);
	}
	if (set_names(a, "audit.jsonl", err) < 0)
		return -1;
	if (root_state_dir(root, "audit", &a->dir, err) < 0)
		return -1;
	return check_own_folder(a, err);
}

int audit_open(struct root *root, const struct settings *set, struct audit **out,
	       struct hcp_err *err)
{
	struct audit *a;
	int rc;

	*out = NULL;
	if (sodium_init() < 0)
		return hcp_fail(err, HCP_E_SYS, "libsodium doesn't start");
	a = calloc(1, sizeof(*a));
	if (!a)
		return hcp_fail_nomem(err);
	a->dir = a->lock.fd = a->head.fd = -1;
	a->sync = set->audit_sync;
	a->copy_fd = -1;
	a->args = set->audit_args;
	a->rotate_bytes = (uint64_t)set->audit_rotate_bytes;
	a->rotate_us = set->audit_rotate_ms * 1000;
	a->keep = (size_t)set->audit_keep;
	if (store_lock_init(a, err) < 0) {
		free(a);
		return -1;
	}
	rc = set->audit_path ? open_given(a, set->audit_path, err) : open_default(a, root, err);
	if (rc == 0 && set->audit_syslog && !(a->copy_path = strdup(set->audit_syslog)))
		rc = hcp_fail_nomem(err);
	if (rc < 0) {
		audit_close(a);
		return -1;
	}
	*out = a;
	return 0;
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	store_close(a);
	store_lock_free(a);
	fd_close(&a->copy_fd);
	free(a->copy_path);
	free(a->shown);
	free(a);
}

void audit_new_run_id(char out[AUDIT_RUN_ID_SIZE])
{
	static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	unsigned char bytes[16] = {0};
	struct timespec ts;
	uint64_t ms;
	unsigned bits = 0;
	int have = 2; /* 26 characters hold 130 bits: two zeros come first */
	char *p = out;

	clock_gettime(CLOCK_REALTIME, &ts);
	ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	for (int i = 0; i < 6; i++)
		bytes[i] = (unsigned char)(ms >> (8 * (5 - i)));
	/* so few bytes come whole; an id names a run and keeps no secret */
	while (getrandom(bytes + 6, sizeof(bytes) - 6, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bits = (bits << 8 | bytes[i]) & 0xfffff;
		for (have += 8; have >= 5; have -= 5)
			*p++ = alphabet[bits >> (have - 5) & 31];
	}
	*p = '\0';
}
