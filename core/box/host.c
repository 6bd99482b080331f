/* SPDX-License-Identifier: MIT */
/* What a runtime keeps between runs: the init program, judged once, and the filters. The init
 * is root's or the runtime's own, nobody else can write it, and it is of this build: a library
 * that talks to another build's init would misread the plan, so it refuses to. */
#include "box/host.h"

#include "base/fd.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif
#define INIT_MAX (4u << 20)

int box_memory(struct hcp_err *err)
{
	int fd = memfd_create("hcp", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	/* kernels before 6.3 don't know the flag; later ones may insist on it */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("hcp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fd = fd_above_stdio(fd);
	if (fd < 0)
		hcp_fail_errno(err, "sandbox: spawn unavailable: memory file");
	return fd;
}

int box_seal(int fd, struct hcp_err *err)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	if (fcntl(fd, F_ADD_SEALS, seals) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return hcp_fail_errno(err, "sandbox: spawn unavailable: memory file");
	return 0;
}

/* The bytes in a memory file that isn't sealed yet; -1: err says why. */
static int fill(const void *data, size_t len, struct hcp_err *err)
{
	struct hcp_err why = {0};
	AUTO_FD fd = box_memory(err);

	if (fd < 0)
		return -1;
	if (fd_write_all(fd, data, len, &why) < 0)
		return hcp_fail(err, why.code, "sandbox: spawn unavailable: memory file: %s",
				why.text);
	return fd_steal(&fd);
}

int box_sealed(const void *data, size_t len, int *out, struct hcp_err *err)
{
	AUTO_FD fd = fill(data, len, err);

	*out = -1;
	if (fd < 0 || box_seal(fd, err) < 0)
		return -1;
	*out = fd_steal(&fd);
	return 0;
}

int box_sealed_plan(const struct box_plan *plan, enum plan_stage stage, int *out,
		    struct hcp_err *err)
{
	const uint32_t word = stage;
	AUTO_FD fd = fill(plan, plan->size, err);

	*out = -1;
	if (fd < 0)
		return -1;
	if (pwrite(fd, &word, sizeof(word), offsetof(struct box_plan, stage)) != sizeof(word))
		return hcp_fail_errno(err, "sandbox: spawn unavailable: memory file");
	if (box_seal(fd, err) < 0)
		return -1;
	*out = fd_steal(&fd);
	return 0;
}

static int check_build(int fd, const char *path, struct hcp_err *err)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (fd_read_all(fd, INIT_MAX, &text, &len, err) < 0)
		return -1;
	if (!memmem(text, len, BOX_BUILD_MARK, sizeof(BOX_BUILD_MARK)))
		return hcp_fail(err, HCP_E_CONFIG,
				"%s is not the init of this build (%s): install both together",
				path, HCP_BUILD_ID);
	return 0;
}

static int check_init(int fd, const char *path, struct hcp_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return hcp_fail(err, HCP_E_CONFIG, "%s is not a regular file", path);
	if (trust_check(&st, path, err) < 0)
		return -1;
	return check_build(fd, path, err);
}

int box_landlock_abi(void)
{
	long abi =
	    syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? -errno : (int)abi;
}

int box_host_open(const char *init_path, struct box_host **out, struct hcp_err *err)
{
	AUTO_FD fd =
	    fd_above_stdio(open(init_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	struct box_host *h;

	*out = NULL;
	if (fd < 0)
		return hcp_fail_errno(err, "%s", init_path);
	if (check_init(fd, init_path, err) < 0)
		return -1;
	h = calloc(1, sizeof(*h));
	if (!h)
		return hcp_fail_nomem(err);
	pthread_mutex_init(&h->lock, NULL);
	for (int i = 0; i < PLAN_SOCKETS_COUNT; i++)
		h->filter_fd[i] = -1;
	h->init_fd = fd_steal(&fd);
	h->landlock = box_landlock_abi();
	box_stages_init(&h->stages);
	*out = h;
	return 0;
}

void box_host_close(struct box_host *h)
{
	if (!h)
		return;
	for (int i = 0; i < PLAN_SOCKETS_COUNT; i++)
		fd_close(&h->filter_fd[i]);
	fd_close(&h->init_fd);
	box_stages_free(&h->stages);
	spawn_stacks_free(&h->stacks);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

int box_host_filter(struct box_host *h, enum plan_sockets sockets, int *fd, struct hcp_err *err)
{
	int rc = 0;

	*fd = -1;
	if ((unsigned)sockets >= PLAN_SOCKETS_COUNT)
		return hcp_fail(err, HCP_E_INVALID, "sandbox: seccomp unavailable: no filter");
	pthread_mutex_lock(&h->lock);
	if (h->filter_fd[sockets] < 0)
		rc = box_filter_build(sockets, h->landlock, &h->filter_fd[sockets], err);
	*fd = h->filter_fd[sockets];
	pthread_mutex_unlock(&h->lock);
	return rc;
}
