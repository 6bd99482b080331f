/* SPDX-License-Identifier: MIT */
/* The allow-list from which a sandbox's root is built: what is not named here does not exist
 * inside. The same list becomes mounts in tier strong and Landlock rules below it. Never the
 * host's "/" with holes: a hole that somebody forgot would be open, a place that somebody
 * forgot is missing. */
#include "box/plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of the host, where it has them, read-only. The certificates' folders are named one by one:
 * /etc/ssl/private stands beside them. */
static const char *const system_places[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/ca-certificates",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/crypto-policies",
};
static const char *const network_places[] = {"/etc/resolv.conf", "/etc/hosts",
					     "/etc/nsswitch.conf", "/etc/services"};
static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
				      "/dev/urandom"};
static const struct {
	const char *at, *to;
} device_links[] = {{"/dev/fd", "/proc/self/fd"},
		    {"/dev/stdin", "/proc/self/fd/0"},
		    {"/dev/stdout", "/proc/self/fd/1"},
		    {"/dev/stderr", "/proc/self/fd/2"}};
/* What the sandbox makes itself; an operator's folder can't take these places. */
static const char *const own_places[] = {"/pack", "/workspace", "/files", "/proc", "/dev"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct plan_item *add(struct plan_items *l, enum plan_kind kind, const char *src,
			     const char *dst, unsigned flags)
{
	struct plan_item *it;

	if (l->count >= l->cap || !dst) {
		l->failed = true;
		return &l->spare;
	}
	it = &l->items[l->count++];
	*it = (struct plan_item){
	    .kind = kind, .src = src, .dst = dst, .flags = flags, .mode = 0755};
	return it;
}

static void add_system(struct plan_items *l, const struct box_spec *spec)
{
	for (size_t i = 0; i < COUNT(system_places); i++)
		add(l, PLAN_SYSTEM, system_places[i], system_places[i], 0);
	if (spec->sandbox->network == POLICY_NET_NONE)
		return;
	for (size_t i = 0; i < COUNT(network_places); i++)
		add(l, PLAN_FOLLOW, network_places[i], network_places[i], 0);
}

static void add_text(struct plan_items *l, const char *dst, const char *text, size_t len,
		     unsigned mode, unsigned flags)
{
	struct plan_item *it = add(l, PLAN_TEXT, text, dst, flags);

	it->len = len;
	it->mode = mode;
	if (!text)
		l->failed = true;
}

static void add_accounts(struct plan_items *l, uid_t uid, gid_t gid)
{
	const char *me = uid == 65534 ? "nobody" : "sandbox";
	const char *pw = arena_printf(l->arena,
				      "root:x:0:0:root:/:/usr/sbin/nologin\n"
				      "%s:x:%u:%u::/tmp:/bin/sh\n",
				      me, (unsigned)uid, (unsigned)gid);
	const char *gr = arena_printf(l->arena, "root:x:0:\n%s:x:%u:\n", me, (unsigned)gid);

	add_text(l, "/etc/passwd", pw, pw ? strlen(pw) : 0, 0444, 0);
	add_text(l, "/etc/group", gr, gr ? strlen(gr) : 0, 0444, 0);
}

static void add_tmpfs(struct plan_items *l, const char *dst, int64_t size, const char *more)
{
	const char *opts =
	    arena_printf(l->arena, "size=%lld,nr_inodes=65536,%s", (long long)size, more);

	add(l, PLAN_TMPFS, opts, dst, PLAN_WRITE);
	if (!opts)
		l->failed = true;
}

static void add_devices(struct plan_items *l)
{
	for (size_t i = 0; i < COUNT(devices); i++)
		add(l, PLAN_DEVICE, devices[i], devices[i], PLAN_WRITE);
}

static void add_device_links(struct plan_items *l)
{
	for (size_t i = 0; i < COUNT(device_links); i++)
		add(l, PLAN_LINK, device_links[i].to, device_links[i].at, 0);
}

/* A folder that somebody opened before: found again by its path, known by device and inode. */
static int add_opened(struct plan_items *l, const char *src, const char *dst, int fd,
		      unsigned flags, struct hcp_err *err)
{
	struct plan_item *it;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "sandbox: mount unavailable: %s", src);
	it = add(l, PLAN_BIND, src, dst, flags | PLAN_CHECKED);
	it->dev = st.st_dev;
	it->ino = st.st_ino;
	return 0;
}

static bool beneath(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && (!path[n] || path[n] == '/');
}

static int add_folders(struct plan_items *l, const struct policy_folder *f, size_t count,
		       unsigned flags, bool own_root, struct hcp_err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (f[i].path[0] != '/' || !f[i].path[1])
			return hcp_fail(err, HCP_E_CONFIG,
					"sandbox: mount unavailable: \"%s\" is no folder that "
					"can be shown",
					f[i].path);
		for (size_t k = 0; own_root && k < COUNT(own_places); k++)
			if (beneath(f[i].path, own_places[k]))
				return hcp_fail(err, HCP_E_CONFIG,
						"sandbox: mount unavailable: \"%s\" is a place "
						"of the sandbox's own",
						f[i].path);
		add(l, PLAN_BIND, f[i].path, f[i].path, flags);
	}
	return 0;
}

static int by_length(const void *a, const void *b)
{
	size_t x = strlen(((const struct plan_item *)a)->dst);
	size_t y = strlen(((const struct plan_item *)b)->dst);

	return x < y ? -1 : x > y;
}

/* The operator's read and write lists; what lies deeper comes later, over what it lies in. */
static int add_operators(struct plan_items *l, const struct policy_sandbox *s, bool own_root,
			 struct hcp_err *err)
{
	size_t from = l->count;

	if (add_folders(l, s->read, s->read_count, 0, own_root, err) < 0 ||
	    add_folders(l, s->write, s->write_count, PLAN_WRITE, own_root, err) < 0)
		return -1;
	qsort(l->items + from, l->count - from, sizeof(*l->items), by_length);
	return 0;
}

static int add_jail(struct plan_items *l, const struct box_spec *spec,
		    const struct box_view *view, struct hcp_err *err)
{
	unsigned flags = spec->jail_write ? PLAN_WRITE : 0;
	uid_t uid;
	gid_t gid;
	const char *opts;

	plan_ids(spec, &uid, &gid);
	switch (spec->jail) {
	case BOX_JAIL_NONE:
		return 0;
	case BOX_JAIL_FOLDER:
		if (spec->only_shown && spec->jail_fd < 0) {
			add(l, PLAN_BIND, spec->jail_path, view->workspace, flags);
			return 0;
		}
		return add_opened(l, spec->jail_path, view->workspace, spec->jail_fd, flags,
				  err);
	case BOX_JAIL_TMPFS:
		/* uid= names an id of the mounter's user namespace; there it is ours anyway */
		opts = plan_as_root() ? arena_printf(l->arena, "mode=0700,uid=%u,gid=%u",
						     (unsigned)uid, (unsigned)gid)
				      : "mode=0700";
		add_tmpfs(l, view->workspace, spec->limits.file, opts ? opts : "");
		l->failed |= !opts;
		return 0;
	}
	return hcp_fail(err, HCP_E_INVALID, "sandbox: mount unavailable: no such kind of jail");
}

int plan_check_name(const struct box_file *f, struct hcp_err *err)
{
	if (!f->name[0] || strchr(f->name, '/') || strcmp(f->name, ".") == 0 ||
	    strcmp(f->name, "..") == 0)
		return hcp_fail(err, HCP_E_INVALID,
				"sandbox: files unavailable: \"%s\" is no file name", f->name);
	return 0;
}

static int add_files(struct plan_items *l, const struct box_spec *spec, struct hcp_err *err)
{
	const char *path;

	if (!spec->file_count)
		return 0;
	/* read-only by its mount; an ordinary user must be able to fill it */
	add(l, PLAN_FOLDER, NULL, "/files", PLAN_OWNED)->mode = 0700;
	for (size_t i = 0; i < spec->file_count; i++) {
		const struct box_file *f = &spec->files[i];

		if (plan_check_name(f, err) < 0)
			return -1;
		path = arena_printf(l->arena, "/files/%s", f->name);
		add_text(l, path, f->data, f->len, 0400, PLAN_OWNED);
	}
	return 0;
}

static int strong_places(const struct box_spec *spec, struct plan_items *l, struct hcp_err *err)
{
	struct box_view view;
	uid_t uid;
	gid_t gid;

	box_view(spec, &view);
	plan_ids(spec, &uid, &gid);
	add(l, PLAN_PROC, NULL, "/proc", 0);
	add_system(l, spec);
	add_accounts(l, uid, gid);
	add(l, PLAN_FOLDER, NULL, "/dev", 0);
	add_devices(l);
	add_device_links(l);
	add_tmpfs(l, "/dev/shm", spec->limits.file, "mode=1777");
	add_tmpfs(l, "/tmp", spec->limits.file, "mode=1777");
	if (add_operators(l, spec->sandbox, true, err) < 0 ||
	    add_opened(l, spec->pack_path, view.pack, spec->pack_fd, 0, err) < 0)
		return -1;
	return add_jail(l, spec, &view, err) < 0 ? -1 : add_files(l, spec, err);
}

/* Below tier strong nothing is mounted: these are the places that Landlock lets through. */
static int light_places(const struct box_spec *spec, struct plan_items *l, struct hcp_err *err)
{
	struct box_view view;

	box_view(spec, &view);
	add_system(l, spec);
	add(l, PLAN_SYSTEM, "/proc", "/proc", 0);
	add(l, PLAN_SYSTEM, "/etc/passwd", "/etc/passwd", 0);
	add(l, PLAN_SYSTEM, "/etc/group", "/etc/group", 0);
	add_devices(l);
	if (add_operators(l, spec->sandbox, false, err) < 0 ||
	    add_opened(l, spec->pack_path, view.pack, spec->pack_fd, 0, err) < 0)
		return -1;
	if (spec->scratch_tmp)
		add(l, PLAN_BIND, spec->scratch_tmp, spec->scratch_tmp, PLAN_WRITE);
	if (spec->file_count)
		add(l, PLAN_BIND, spec->scratch_files, spec->scratch_files, 0);
	if (spec->jail == BOX_JAIL_TMPFS)
		add(l, PLAN_BIND, spec->scratch_jail, spec->scratch_jail, PLAN_WRITE);
	return spec->jail == BOX_JAIL_FOLDER ? add_jail(l, spec, &view, err) : 0;
}

int plan_places(const struct box_spec *spec, struct plan_items *out, struct hcp_err *err)
{
	int rc = -1;

	out->cap =
	    64 + spec->sandbox->read_count + spec->sandbox->write_count + spec->file_count;
	out->items = arena_array(out->arena, out->cap, sizeof(*out->items));
	if (!out->items)
		return hcp_fail_nomem(err);
	switch (plan_tier(spec->sandbox)) {
	case PLAN_TIER_STRONG:
		rc = strong_places(spec, out, err);
		break;
	case PLAN_TIER_LIGHT:
		rc = light_places(spec, out, err);
		break;
	case PLAN_TIER_NATIVE:
		rc = 0;
		break;
	case PLAN_TIER_NONE:
		rc = hcp_fail(err, HCP_E_CONFIG, "sandbox: no tier was chosen");
		break;
	}
	if (rc == 0 && out->failed)
		return hcp_fail_nomem(err);
	return rc;
}
