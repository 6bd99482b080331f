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
	struct arena *a;
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

static int make_folder(const struct place *p, int dirfd, const char *name, int *out,
		       const char **path)
{
	AUTO_FD fd = -1;

	*out = -1;
	*path = arena_printf(p->a, "%s/%s", p->path, name);
	if (!*path)
		return hcp_fail_nomem(p->err);
	if (mkdirat(dirfd, name, 0700) < 0)
		return hcp_fail_errno(p->err, "sandbox: scratch unavailable: %s", *path);
	fd = fd_above_stdio(
	    openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return hcp_fail_errno(p->err, "sandbox: scratch unavailable: %s", *path);
	/* the host's umask may have taken even the owner's bits */
	if (fchmod(fd, 0700) < 0)
		return hcp_fail_errno(p->err, "sandbox: scratch unavailable: %s", *path);
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

static int make_files(const struct place *p, int dirfd, const char **path)
{
	AUTO_FD fd = -1;

	if (make_folder(p, dirfd, "files", &fd, path) < 0)
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

int box_scratch(struct box_spec *spec, int dirfd, const char *path, struct arena *a,
		struct hcp_err *err)
{
	struct place p = {.path = path, .spec = spec, .a = a, .err = err};
	AUTO_FD tmp = -1;
	AUTO_FD jail = -1;

	spec->scratch_tmp = spec->scratch_files = spec->scratch_jail = NULL;
	if (plan_tier(spec->sandbox) == PLAN_TIER_STRONG)
		return 0;
	if (make_folder(&p, dirfd, "tmp", &tmp, &spec->scratch_tmp) < 0)
		return -1;
	if (spec->file_count && make_files(&p, dirfd, &spec->scratch_files) < 0)
		return -1;
	if (spec->jail == BOX_JAIL_TMPFS &&
	    make_folder(&p, dirfd, "jail", &jail, &spec->scratch_jail) < 0)
		return -1;
	return 0;
}
