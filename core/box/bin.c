/* SPDX-License-Identifier: MIT */
/* Which file is the program. Allow-listing is decided first and by spelling alone, before
 * anything is looked for; what is found is then opened once, and everything that is asked about
 * it is asked of that descriptor. */
#include "box/plan.h"

#include "base/fd.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_FAILED         1
#define EXIT_MISSING        127
#define EXIT_NOT_EXECUTABLE 126

struct search {
	const char *spelling;
	const struct policy_bin *allowed;
	int pack_fd;
	const char *pack_path;
	bool own_root; /* tier strong: the pack is at /pack */
	struct arena *a;
	int *exit_code;
	struct hcp_err *err;
};

static const struct policy_bin *find_allowed(const struct policy_pack *pp, const char *spelling)
{
	for (size_t i = 0; i < pp->bin_count; i++)
		if (strcmp(pp->bins[i].path, spelling) == 0)
			return &pp->bins[i];
	return NULL;
}

static int missing(const struct search *s)
{
	*s->exit_code = EXIT_MISSING;
	return hcp_fail(s->err, HCP_E_SYS, "exit 127");
}

static int not_executable(const struct search *s)
{
	*s->exit_code = EXIT_NOT_EXECUTABLE;
	return hcp_fail(s->err, HCP_E_SYS, "exit 126");
}

static bool is_missing(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
}

/* Beneath the pack after every link, whatever `..` and links do. */
static int open_in_pack(const struct search *s, struct box_bin *out)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	const char *rel = s->spelling;
	long fd;

	if (str_starts(rel, "./"))
		rel += 1 + strspn(rel + 1, "/");
	fd = syscall(SYS_openat2, s->pack_fd, rel, &how, sizeof(how));
	if (fd < 0 && is_missing(errno))
		return missing(s);
	if (fd < 0 && (errno == EXDEV || errno == ELOOP)) {
		*s->exit_code = EXIT_MISSING;
		return hcp_fail(s->err, HCP_E_DENIED,
				"sandbox: bin \"%s\" not allowlisted: it leads out of the pack",
				s->spelling);
	}
	if (fd < 0 && errno == EACCES)
		return not_executable(s);
	if (fd < 0) /* a filter of the surroundings, an old kernel, too many open files */
		return hcp_fail_errno(s->err, "sandbox: bin unavailable: %s", s->spelling);
	out->fd = fd_above_stdio((int)fd);
	out->inside = arena_printf(s->a, "%s/%s", s->own_root ? "/pack" : s->pack_path, rel);
	return out->inside ? 0 : hcp_fail_nomem(s->err);
}

static int open_at(const struct search *s, const char *path, struct box_bin *out)
{
	out->fd = fd_above_stdio(open(path, O_PATH | O_CLOEXEC));
	if (out->fd < 0 && is_missing(errno))
		return missing(s);
	if (out->fd < 0 && errno == EACCES)
		return not_executable(s);
	if (out->fd < 0)
		return hcp_fail_errno(s->err, "sandbox: bin unavailable: %s", path);
	out->inside = arena_strdup(s->a, path);
	return out->inside ? 0 : hcp_fail_nomem(s->err);
}

/* A name is looked for as execvp does: what can't be executed is passed over, and remembered.
 */
static int open_in_path(const struct search *s, struct box_bin *out)
{
	const char *dir = BOX_PATH, *end;
	bool seen = false;
	char path[512];

	for (; *dir; dir = *end ? end + 1 : end) {
		end = strchrnul(dir, ':');
		if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)(end - dir), dir,
				     s->spelling) >= sizeof(path))
			return missing(s);
		if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
			return open_at(s, path, out);
		seen |= !is_missing(errno);
	}
	return seen ? not_executable(s) : missing(s);
}

static int open_bin(const struct search *s, struct box_bin *out)
{
	if (s->spelling[0] == '.')
		return open_in_pack(s, out);
	if (s->spelling[0] == '/')
		return open_at(s, s->spelling, out);
	if (!s->spelling[0] || strchr(s->spelling, '/'))
		return hcp_fail(s->err, HCP_E_CONFIG, "sandbox: bin \"%s\" is no program name",
				s->spelling);
	return open_in_path(s, out);
}

static int not_pinned(const struct search *s, const char *why)
{
	*s->exit_code = EXIT_MISSING;
	return hcp_fail(s->err, HCP_E_DENIED, "sandbox: bin \"%s\" not allowlisted: %s",
			s->spelling, why);
}

static int check_digest(const struct search *s, int fd)
{
	crypto_hash_sha256_state st;
	unsigned char sum[crypto_hash_sha256_BYTES], block[16384];
	char hex[2 * sizeof(sum) + 1], why[96];
	ssize_t n;

	if (fd < 0)
		return not_pinned(s, "it can't be read to compare its digest");
	crypto_hash_sha256_init(&st);
	while ((n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hcp_fail_errno(s->err, "sandbox: bin \"%s\"", s->spelling);
		crypto_hash_sha256_update(&st, block, (unsigned long long)n);
	}
	crypto_hash_sha256_final(&st, sum);
	sodium_bin2hex(hex, sizeof(hex), sum, sizeof(sum));
	if (strcmp(hex, s->allowed->sha256) == 0)
		return 0;
	snprintf(why, sizeof(why), "its sha256 is %s", hex);
	return not_pinned(s, why);
}

/* By the descriptor's own name in /proc, which can't lead anywhere else. A program that we may
 * execute but not read is one all the same. */
static int open_readable(int fd)
{
	char name[40];

	snprintf(name, sizeof(name), FD_NAME, fd);
	return open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static int look_inside(const struct search *s, struct box_bin *out)
{
	AUTO_FD fd = fd_above_stdio(open_readable(out->fd));
	char magic[2];

	out->script = fd >= 0 && pread(fd, magic, 2, 0) == 2 && memcmp(magic, "#!", 2) == 0;
	return s->allowed->sha256 ? check_digest(s, fd) : 0;
}

static int real_path(const struct search *s, struct box_bin *out)
{
	char name[40], path[4096];
	ssize_t n;

	snprintf(name, sizeof(name), FD_NAME, out->fd);
	n = readlink(name, path, sizeof(path));
	if (n < 0 || (size_t)n == sizeof(path))
		return hcp_fail_errno(s->err, "sandbox: bin \"%s\"", s->spelling);
	out->host = arena_strndup(s->a, path, (size_t)n);
	return out->host ? 0 : hcp_fail_nomem(s->err);
}

static int check_bin(const struct search *s, struct box_bin *out)
{
	bool in_pack = s->spelling[0] == '.';
	struct hcp_err why = {0};
	struct stat st;

	if (fstat(out->fd, &st) < 0)
		return hcp_fail_errno(s->err, "sandbox: bin \"%s\"", s->spelling);
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return not_executable(s);
	out->dev = st.st_dev;
	out->ino = st.st_ino;
	/* a pack's program is judged like all that the runtime reads; any other must at least
	 * not be everybody's */
	if (in_pack ? trust_check(&st, s->spelling, &why) < 0 : (st.st_mode & S_IWOTH) != 0) {
		*s->exit_code = EXIT_NOT_EXECUTABLE;
		return hcp_fail(s->err, HCP_E_DENIED, "sandbox: bin \"%s\": %s", s->spelling,
				in_pack ? why.text : "it is writable by others");
	}
	return real_path(s, out) < 0 ? -1 : look_inside(s, out);
}

int box_bin_open(const char *spelling, const struct policy_pack *pp, int pack_fd,
		 const char *pack_path, struct arena *a, struct box_bin *out, int *exit_code,
		 struct hcp_err *err)
{
	struct search s = {.spelling = spelling,
			   .allowed = find_allowed(pp, spelling),
			   .pack_fd = pack_fd,
			   .pack_path = pack_path,
			   .own_root = plan_tier(&pp->sandbox) == PLAN_TIER_STRONG,
			   .a = a,
			   .exit_code = exit_code,
			   .err = err};

	*out = (struct box_bin){.fd = -1};
	*exit_code = EXIT_MISSING;
	if (!s.allowed)
		return hcp_fail(err, HCP_E_DENIED, "sandbox: bin \"%s\" not allowlisted",
				spelling);
	*exit_code = EXIT_FAILED;
	if (open_bin(&s, out) < 0 || check_bin(&s, out) < 0) {
		box_bin_close(out);
		return -1;
	}
	*exit_code = 0;
	return 0;
}

void box_bin_close(struct box_bin *bin)
{
	fd_close(&bin->fd);
}
