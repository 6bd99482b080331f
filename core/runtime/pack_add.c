/* SPDX-License-Identifier: MIT */
/* hcp_pack_add, remove and verify. What comes from elsewhere is laid down beside the packs,
 * read and judged there by the loader itself, and takes its name last. hcp.lock is written
 * before that: between the two, and after a crash there, the pack is refused. */
#include "runtime/runtime.h"

#include "base/fd.h"
#include "base/tree.h"
#include "pack/lockfile.h"
#include "pack/manifest.h"
#include "pack/needs.h"
#include "pack/signature.h"
#include "pack/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct install {
	struct snapshot *s;
	const char *path;
	bool accept, added;
	int held;   /* the lock of the root's folder */
	int parent; /* the folder that packs lie in */
	struct stage stage;
	struct pack *pack, *old; /* old NULL: none was added, or it isn't whole any more */
	json_t *was;             /* hcp.lock's entry of the old one; NULL: none */
	char signer[SIGN_KEY_SIZE];
	json_t *needs;
};

static const char *signer_of(const struct install *in)
{
	return in->signer[0] ? in->signer : NULL;
}

/* One at a time: flock(2) on the root's folder, which no run takes. */
static int hold(const struct root *root, int *out, struct hcp_err *err)
{
	AUTO_FD fd = fd_above_stdio(openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd < 0)
		return hcp_fail_errno(err, "%s", root->path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			   ? hcp_fail(err, HCP_E_TIMEOUT, "packs of %s are being changed",
				      root->path)
			   : hcp_fail_errno(err, "%s", root->path);
	*out = fd_steal(&fd);
	return 0;
}

static int check_owner(const struct snapshot *s, struct hcp_err *err)
{
	if (s->broken.code != HCP_E_NONE) {
		*err = s->broken;
		return -1;
	}
	return root_is_ours(&s->root)
		   ? 0
		   : hcp_fail(err, HCP_E_DENIED,
			      "only the owner of the root folder changes it");
}

/* The first folder of packs; made where it isn't there and is the root's own. */
static int open_parent(struct install *in, struct hcp_err *err)
{
	const char *dir = in->s->set.packs.items[0];
	int rc;

	if (dir[0] != '/' && mkdirat(in->s->root.fd, dir, 0755) == 0 &&
	    fchmodat(in->s->root.fd, dir, 0755, 0) < 0)
		return hcp_fail_errno(err, "%s", dir);
	rc = pack_open_parent(&in->s->root, dir, &in->parent, err);
	return rc == 0 ? hcp_fail(err, HCP_E_CONFIG, "%s is missing", dir) : rc < 0 ? -1 : 0;
}

static int open_staged(struct install *in, struct hcp_err *err)
{
	int fd = fcntl(in->stage.fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return hcp_fail_errno(err, "%s", in->path);
	return pack_open_folder(fd, in->path, &in->pack, err);
}

/* ---- judging ---- */

/* Who made the old version makes the new one, or it is another pack. */
static int check_signer(const struct install *in, struct hcp_err *err)
{
	const char *was = json_string_value(json_object_get(in->was, "signer"));
	struct hcp_err why = {0};

	if (policy_check_signer(in->s->policy, signer_of(in), &why) < 0)
		return hcp_fail(err, HCP_E_DENIED, "pack %s: %s", in->pack->id, why.text);
	if (was && strcmp(was, in->signer) != 0)
		return hcp_fail(err, HCP_E_DENIED,
				"pack %s: the installed one is signed with %s, this one %s%s: "
				"remove that one first",
				in->pack->id, was, in->signer[0] ? "with " : "by nobody",
				in->signer);
	return 0;
}

/* The old version: what it is by hcp.lock and, where it is still that, as a pack. */
static int find_old(struct install *in, struct hcp_err *err)
{
	struct hcp_err why = {0};
	struct stat st;
	json_t *lock;

	if (lockfile_read(&in->s->root, &lock, err) < 0)
		return -1;
	in->was = json_incref(lockfile_entry(lock, in->pack->id));
	json_decref(lock);
	if (in->was)
		return pack_try(&in->s->root, &in->s->set, in->pack->id, &in->old, &why) < 0 &&
			       why.code == HCP_E_NOMEM
			   ? hcp_fail_nomem(err)
			   : 0;
	if (fstatat(in->parent, in->pack->id, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return hcp_fail(err, HCP_E_DENIED,
				"pack %s is a development pack: it is in %s and was never "
				"added. Move it away first",
				in->pack->id, in->s->set.packs.items[0]);
	return errno == ENOENT ? 0 : hcp_fail_errno(err, "%s", in->pack->id);
}

static int judge(struct install *in, struct hcp_err *err)
{
	if (signature_check(in->pack, in->signer, err) < 0 || find_old(in, err) < 0 ||
	    check_signer(in, err) < 0)
		return -1;
	in->needs = needs_beyond(in->pack, in->old);
	return in->needs ? 0 : hcp_fail_nomem(err);
}

/* ---- installing ---- */

/* The old folder moves away under the new one's stage name, and goes with it. */
static int put_away(const struct install *in, const char *id, struct hcp_err *err)
{
	char away[sizeof(in->stage.name) + 4];

	snprintf(away, sizeof(away), "%s.old", in->stage.name);
	if (renameat(in->parent, id, in->parent, away) < 0)
		return errno == ENOENT ? 0 : hcp_fail_errno(err, "%s", id);
	return tree_remove(in->parent, away, err);
}

static int install(struct install *in, struct hcp_err *err)
{
	json_t *entry = lockfile_entry_of(in->pack, signer_of(in));

	if (!entry)
		return hcp_fail_nomem(err);
	if (lockfile_set(&in->s->root, in->pack->id, entry, err) < 0)
		return -1;
	if ((in->was && put_away(in, in->pack->id, err) < 0) ||
	    stage_take(&in->stage, in->pack->id, err) < 0)
		return -1;
	in->added = true;
	return 0;
}

static int add(struct install *in, struct hcp_err *err)
{
	if (check_owner(in->s, err) < 0 || hold(&in->s->root, &in->held, err) < 0 ||
	    open_parent(in, err) < 0)
		return -1;
	stage_sweep(in->parent);
	if (stage_begin(&in->stage, in->parent, err) < 0 ||
	    stage_fill(&in->stage, in->path, err) < 0 || open_staged(in, err) < 0 ||
	    judge(in, err) < 0)
		return -1;
	if (in->was && json_array_size(in->needs) && !in->accept)
		return 0;
	return install(in, err);
}

static hcp_result *told(struct install *in)
{
	json_t *value =
	    json_pack("{s:s,s:s,s:s,s:s*,s:s*,s:O,s:b}", "pack_id", in->pack->id, "version",
		      in->pack->version, "digest", in->pack->digest, "signer", signer_of(in),
		      "was", json_string_value(json_object_get(in->was, "version")), "needs",
		      in->needs, "added", in->added);
	hcp_result *res = value ? result_from_json(value) : NULL;

	if (res)
		res->ok = in->added;
	json_decref(value);
	return res;
}

hcp_status hcp_pack_add(hcp_runtime *rt, const char *path, int accept, hcp_result **out,
			hcp_error *err)
{
	struct install in = {.path = path, .accept = accept != 0, .held = -1, .parent = -1};
	struct hcp_err why = {0};
	int rc;

	if (out)
		*out = NULL;
	if (!rt || !path || !out)
		return HCP_EINVAL;
	in.stage.fd = -1;
	in.s = runtime_snapshot(rt);
	rc = add(&in, &why);
	if (rc == 0)
		*out = told(&in);
	if (rc == 0 && !*out)
		rc = hcp_fail_nomem(&why);
	pack_close(in.pack);
	pack_close(in.old);
	json_decref(in.was);
	json_decref(in.needs);
	stage_end(&in.stage);
	fd_close(&in.parent);
	fd_close(&in.held);
	snapshot_put(in.s);
	return rc == 0 ? HCP_OK : runtime_error(err, &why);
}

/* ---- removing ---- */

static int take_away(struct install *in, const char *id, struct hcp_err *err)
{
	json_t *lock;
	bool known;

	if (check_owner(in->s, err) < 0 || hold(&in->s->root, &in->held, err) < 0 ||
	    open_parent(in, err) < 0 || lockfile_read(&in->s->root, &lock, err) < 0)
		return -1;
	known = name_is_id(id) && lockfile_entry(lock, id);
	json_decref(lock);
	if (!known)
		return hcp_fail(err, HCP_E_DENIED, "pack %.*s was never added", LIMIT_ID, id);
	/* the folder first: without its entry what is left of it would be a development pack */
	if (stage_begin(&in->stage, in->parent, err) < 0 || put_away(in, id, err) < 0)
		return -1;
	return lockfile_set(&in->s->root, id, NULL, err);
}

hcp_status hcp_pack_remove(hcp_runtime *rt, const char *pack, hcp_error *err)
{
	struct install in = {.held = -1, .parent = -1};
	struct hcp_err why = {0};
	int rc;

	if (!rt || !pack)
		return HCP_EINVAL;
	in.stage.fd = -1;
	in.s = runtime_snapshot(rt);
	rc = take_away(&in, pack, &why);
	stage_end(&in.stage);
	fd_close(&in.parent);
	fd_close(&in.held);
	snapshot_put(in.s);
	return rc == 0 ? HCP_OK : runtime_error(err, &why);
}

/* ---- verifying ---- */

/* What step 1 would say, and whether the signature still holds. */
static json_t *verified(struct snapshot *s, const char *id, const json_t *entry)
{
	const char *signer = json_string_value(json_object_get(entry, "signer"));
	char found[SIGN_KEY_SIZE];
	struct hcp_err err = {0};
	struct pack *p = NULL;
	int rc = pack_open(&s->root, &s->set, id, &p, &err);
	json_t *j;

	if (rc == 0)
		rc = policy_check_signer(s->policy, p->signer, &err);
	if (rc == 0)
		rc = signature_check(p, found, &err);
	if (rc == 0 && strcmp(found, signer ? signer : "") != 0)
		rc = hcp_fail(&err, HCP_E_DENIED,
			      "pack %s: its signer isn't the one of " LOCKFILE, id);
	j = json_pack("{s:s,s:O,s:s*,s:s*,s:s*}", "pack_id", id, "version",
		      json_object_get(entry, "version"), "signer", signer, "name",
		      policy_signer(s->policy, signer), "error", rc < 0 ? err.text : NULL);
	pack_close(p);
	return j;
}

static json_t *verify(struct snapshot *s, const char *pack, bool *sound, struct hcp_err *err)
{
	json_t *lock, *list, *entry, *one;
	const char *id;

	if (check_owner(s, err) < 0 || lockfile_read(&s->root, &lock, err) < 0)
		return NULL;
	if (pack && !lockfile_entry(lock, pack)) {
		json_decref(lock);
		hcp_fail(err, HCP_E_DENIED, "pack %.*s was never added", LIMIT_ID, pack);
		return NULL;
	}
	list = json_array();
	*sound = true;
	json_object_foreach(json_object_get(lock, "packs"), id, entry)
	{
		if (pack && strcmp(pack, id) != 0)
			continue;
		one = verified(s, id, entry);
		*sound = *sound && one && !json_object_get(one, "error");
		json_array_append_new(list, one);
	}
	json_decref(lock);
	return json_pack("{s:o}", "packs", list);
}

hcp_status hcp_pack_verify(hcp_runtime *rt, const char *pack, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};
	struct snapshot *s;
	bool sound = false;
	hcp_status status;
	json_t *value;

	if (out)
		*out = NULL;
	if (!rt || !out)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	value = verify(s, pack, &sound, &why);
	snapshot_put(s);
	status = result_give(value, &why, out, err);
	if (status == HCP_OK)
		(*out)->ok = sound;
	return status;
}
