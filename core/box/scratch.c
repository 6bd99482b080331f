/* SPDX-License-Identifier: MIT */
/* Where there is no mount namespace, the private places of a run are folders beneath one that
 * the caller made for this run. Everything is made through descriptors of folders that nobody
 * else can write; nothing that exists already is touched. */
#include "box/plan.h"

#include "base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	const char *path;
	const struct box_spec *spec;
	struct hcp_err *err;
};

/* Below tier strong a root runtime drops to the sandbox user, too. */
static int give(const struct place *p, int fd, const char *name)
{
	uid_t uid;
	gid_t gid;

	plan_ids(p->spec, &uid, &gid);
	if (plan_as_root() && fchown(fd, uid, gid) < 0)
		return hcp_fail_errno(p->err, "sandbox: scratch unavailable: %s/%s", p->path,
				      name);
	return 0;
}

static int make_folder(const struct place *p, int dirfd, const char *name, int *out)
{
	AUTO_FD fd = -1;

	*out = -1;
	if (mkdirat(dirfd, name, 0700) < 0)
		return hcp_fail_errno(p->err, "sandbox: scratch unavailable: %s/%s", p->path,
				      name);
	fd = fd_above_stdio(
	    openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	/* the host's umask may have taken even the owner's bits */
	if (fd < 0 || fchmod(fd, 0700) < 0)
		return hcp_fail_errno(p->err, "sandbox: scratch unavailable: %s/%s", p->path,
				      name);
	if (give(p, fd, name) < 0)
		return -1;
	*out = fd_steal(&fd);
	return 0;
}

static int make_file(const struct place *p, int dirfd, const struct box_file *f)
{
	AUTO_FD fd = fd_above_stdio(
	    openat(dirfd, f->name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0400));

	if (fd < 0)
		return hcp_fail_errno(p->err, "sandbox: files unavailable: %s", f->name);
	if (fd_write_all(fd, f->data, f->len, p->err) < 0)
		return -1;
	if (fchmod(fd, 0400) < 0)
		return hcp_fail_errno(p->err, "sandbox: files unavailable: %s", f->name);
	return give(p, fd, f->name);
}

static int make_files(const struct place *p, int dirfd)
{
	AUTO_FD fd = -1;

	if (make_folder(p, dirfd, "files", &fd) < 0)
		return -1;
	for (size_t i = 0; i < p->spec->file_count; i++) {
		if (plan_check_name(&p->spec->files[i], p->err) < 0 ||
		    make_file(p, fd, &p->spec->files[i]) < 0)
			return -1;
	}
	return 0;
}

bool box_needs_scratch(const struct box_spec *spec)
{
	return plan_tier(spec->sandbox) != PLAN_TIER_STRONG;
}

/* NULL where it isn't wanted or memory ran out; the latter sticks in *failed. */
static const char *name_of(const char *path, const char *name, bool wanted, struct arena *a,
			   bool *failed)
{
	const char *full = wanted ? arena_printf(a, "%s/%s", path, name) : NULL;

	*failed |= wanted && !full;
	return full;
}

int box_scratch_names(struct box_spec *spec, const char *path, struct arena *a,
		      struct hcp_err *err)
{
	bool on = box_needs_scratch(spec), failed = false;

	spec->scratch_tmp = name_of(path, "tmp", on, a, &failed);
	spec->scratch_files = name_of(path, "files", on && spec->file_count, a, &failed);
	spec->scratch_jail =
	    name_of(path, "jail", on && spec->jail == BOX_JAIL_TMPFS, a, &failed);
	return failed ? hcp_fail_nomem(err) : 0;
}

int box_scratch(struct box_spec *spec, int dirfd, const char *path, struct arena *a,
		struct hcp_err *err)
{
	struct place p = {.path = path, .spec = spec, .err = err};
	AUTO_FD tmp = -1;
	AUTO_FD jail = -1;

	if (box_scratch_names(spec, path, a, err) < 0)
		return -1;
	if (spec->scratch_tmp && make_folder(&p, dirfd, "tmp", &tmp) < 0)
		return -1;
	if (spec->scratch_files && make_files(&p, dirfd) < 0)
		return -1;
	if (spec->scratch_jail && make_folder(&p, dirfd, "jail", &jail) < 0)
		return -1;
	return 0;
}
