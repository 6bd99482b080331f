/* SPDX-License-Identifier: MIT */
/* --in and --out: files are opened here, as whoever calls, and the library gets descriptors. A
 * file that comes out appears under its name once the run is over and was ok. */
#include "cli/cli.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cli_file {
	int fd;
	char path[PATH_MAX], fresh[PATH_MAX];
};
struct cli_files {
	struct cli_file in[CLI_LIST], out[CLI_LIST];
};

static int bad_name(const char *option, const char *word)
{
	return cli_fail(CLI_USAGE,
			"%s %s: no name for a file of the workspace, or too many files", option,
			word);
}

/* FILE[:NAME]: what stands behind the last colon, unless that is part of a path. */
static int open_in(struct cli *c, const char *word, struct cli_file *f)
{
	const char *colon = strrchr(word, ':'), *name;
	size_t len = colon && !strchr(colon, '/') ? (size_t)(colon - word) : strlen(word);

	if (len >= sizeof(f->path))
		return cli_fail(CLI_USAGE, "--in %s: too long", word);
	memcpy(f->path, word, len);
	f->path[len] = '\0';
	name = strrchr(f->path, '/') ? strrchr(f->path, '/') + 1 : f->path;
	if (word[len])
		name = word + len + 1;
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (f->fd < 0)
		return cli_fail(CLI_USAGE, "--in %s: %s", f->path, strerrordesc_np(errno));
	return hcp_call_put_file(c->call, name, f->fd) == HCP_OK ? 0 : bad_name("--in", word);
}

/* NAME[:FILE]; without FILE, the last part of NAME in the working folder. */
static int open_out(struct cli *c, const char *word, struct cli_file *f)
{
	size_t len = strcspn(word, ":");
	char name[PATH_MAX];
	const char *slash;

	if (len >= sizeof(name) || strlen(word) + 32 >= sizeof(f->path))
		return cli_fail(CLI_USAGE, "--out %s: too long", word);
	memcpy(name, word, len);
	name[len] = '\0';
	slash = strrchr(name, '/');
	snprintf(f->path, sizeof(f->path), "%s",
		 word[len] ? word + len + 1
		 : slash   ? slash + 1
			   : name);
	if ((size_t)snprintf(f->fresh, sizeof(f->fresh), "%s.%d.hcp", f->path, (int)getpid()) >=
	    sizeof(f->fresh))
		return cli_fail(CLI_USAGE, "--out %s: too long", word);
	f->fd = open(f->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (f->fd < 0) {
		f->fresh[0] = '\0';
		return cli_fail(CLI_USAGE, "--out %s: %s", f->path, strerrordesc_np(errno));
	}
	return hcp_call_take_file(c->call, name, f->fd) == HCP_OK ? 0 : bad_name("--out", word);
}

int files_begin(struct cli *c, struct cli_files **out)
{
	struct cli_files *all = calloc(1, sizeof(*all));
	int status = 0;

	*out = all;
	if (!all || (c->keep && hcp_call_keep_failed(c->call, 1) != HCP_OK))
		return cli_fail(CLI_RUNTIME, "out of memory");
	for (int i = 0; i < CLI_LIST; i++)
		all->in[i].fd = all->out[i].fd = -1;
	for (int i = 0; status == 0 && c->in[i]; i++)
		status = open_in(c, c->in[i], &all->in[i]);
	for (int i = 0; status == 0 && c->out[i]; i++)
		status = open_out(c, c->out[i], &all->out[i]);
	return status;
}

static int finish(struct cli_file *f, bool ok)
{
	int status = 0;

	if (f->fresh[0] && ok && (fsync(f->fd) < 0 || rename(f->fresh, f->path) < 0))
		status = cli_fail(CLI_RUNTIME, "%s: %s", f->path, strerrordesc_np(errno));
	if (f->fresh[0] && (!ok || status))
		unlink(f->fresh);
	fd_close(&f->fd);
	return status;
}

int files_end(struct cli_files *all, bool ok)
{
	int status = 0;

	for (int i = 0; all && i < CLI_LIST; i++) {
		status |= finish(&all->out[i], ok);
		fd_close(&all->in[i].fd);
	}
	free(all);
	return status;
}
