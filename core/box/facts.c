/* SPDX-License-Identifier: MIT */
/* What can be read of the surroundings. Read after a layer was refused, to tell why; whatever
 * can't be read is left open. */
#include "box/cause.h"
#include "box/host.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The start of a small file, "" where there is none. */
static void read_text(const char *path, char *out, size_t size)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n < 0 ? 0 : n] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static long read_number(const char *path)
{
	char text[32], *end;
	long n;

	read_text(path, text, sizeof(text));
	n = strtol(text, &end, 10);
	return end == text || *end ? -1 : n;
}

static void read_kernel(struct box_facts *f)
{
	struct utsname u;
	char *end;

	if (uname(&u) < 0)
		return;
	snprintf(f->release, sizeof(f->release), "%s", u.release);
	f->version = (unsigned)strtoul(u.release, &end, 10) << 16;
	if (*end == '.')
		f->version |= (unsigned)strtoul(end + 1, NULL, 10) & 0xffff;
	f->wsl = strcasestr(u.release, "microsoft") != NULL;
}

static void read_status(struct box_facts *f)
{
	FILE *in = fopen("/proc/thread-self/status", "re");
	char line[256];

	while (in && fgets(line, sizeof(line), in)) {
		if (str_starts(line, "CapEff:"))
			f->admin = strtoull(line + 7, NULL, 16) >> CAP_SYS_ADMIN & 1;
		else if (str_starts(line, "Seccomp:"))
			f->filtered = strtol(line + 8, NULL, 10) == 2;
	}
	if (in)
		fclose(in);
}

/* A folder of sysctl's that is empty for good: a mount there hides nothing. */
#define BINFMT "/proc/sys/fs/binfmt_misc"

/* Each line of mountinfo, proc(5): the fifth word is where it is mounted. */
static void read_mounts(struct box_facts *f)
{
	FILE *in = fopen("/proc/thread-self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	char at[sizeof(f->covered)];

	while (in && getline(&line, &size, in) > 0) {
		if (sscanf(line, "%*s %*s %*s %*s %63s", at) != 1)
			continue;
		if (str_starts(at, "/proc/") && !str_eq(at, BINFMT) && !f->covered[0])
			snprintf(f->covered, sizeof(f->covered), "%s", at);
	}
	if (in)
		fclose(in);
}

/* A chroot into the root of a mount can't be told from none. */
static bool in_chroot(void)
{
	struct statx st;

	return statx(AT_FDCWD, "/", 0, 0, &st) == 0 &&
	       (st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static bool proc_is_there(void)
{
	struct statfs fs;

	return statfs("/proc", &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static void read_profile(struct box_facts *f)
{
	read_text("/proc/thread-self/attr/apparmor/current", f->profile, sizeof(f->profile));
	if (str_starts(f->profile, "unconfined"))
		f->profile[0] = '\0';
}

void box_facts_read(struct box_facts *f)
{
	memset(f, 0, sizeof(*f));
	f->landlock = box_landlock_abi();
	read_kernel(f);
	f->root = geteuid() == 0;
	f->proc = proc_is_there();
	f->user_namespaces =
	    faccessat(AT_FDCWD, "/proc/thread-self/ns/user", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	f->chroot = in_chroot();
	f->userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
	f->max_userns = read_number("/proc/sys/user/max_user_namespaces");
	f->apparmor_userns =
	    read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	read_text("/sys/kernel/security/lsm", f->lsm, sizeof(f->lsm));
	read_status(f);
	read_mounts(f);
	read_profile(f);
}
