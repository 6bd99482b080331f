/* SPDX-License-Identifier: MIT */
/* A throw-away folder with a root, a data folder and room for a state, for unit tests. Included
 * after cmocka.h. */
#ifndef HCP_SPEC_ROOT_FOLDER_H
#define HCP_SPEC_ROOT_FOLDER_H

#include "base/fd.h"
#include "root/settings.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	char dir[64], top[80], etc[80], data[80], state[80];
	struct root_request req;
	struct root root;
	struct settings set;
	struct hcp_err err;
	char text[2048]; /* err as a message */
};

static inline int world_remove_one(const char *path, const struct stat *st, int flag,
				   struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void world_path(const struct world *w, const char *rel, char out[512])
{
	snprintf(out, 512, "%s/%s", w->dir, rel);
}

/* Makes the folders on the way to dir/rel. */
static inline void world_mkdirs(const struct world *w, const char *rel)
{
	char path[512];

	world_path(w, rel, path);
	for (char *p = path + strlen(w->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
}

static inline void world_put(const struct world *w, const char *rel, const char *text)
{
	char path[512];
	FILE *out;

	world_mkdirs(w, rel);
	world_path(w, rel, path);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, strlen(text), out), strlen(text));
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(path, 0644), 0);
}

static inline void world_begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->root.fd = w->root.state_fd = w->root.data_fd = -1;
	umask(022);
	strcpy(w->dir, "/tmp/hcp-unit-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(chmod(w->dir, 0755), 0);
	snprintf(w->top, sizeof(w->top), "%s/root", w->dir);
	snprintf(w->etc, sizeof(w->etc), "%s/etc", w->dir);
	snprintf(w->data, sizeof(w->data), "%s/data", w->dir);
	snprintf(w->state, sizeof(w->state), "%s/state", w->dir);
	world_mkdirs(w, "root/");
	world_mkdirs(w, "data/");
	w->req.root = w->top;
	w->req.state = w->state;
	w->req.data = w->data;
}

static inline int world_open(struct world *w)
{
	int rc;

	root_close(&w->root);
	memset(&w->err, 0, sizeof(w->err));
	rc = root_open_with(&w->root, &w->set, &w->req, w->etc, &w->err);
	hcp_err_format(&w->err, w->text, sizeof(w->text));
	return rc;
}

static inline void world_must_open(struct world *w)
{
	if (world_open(w) < 0)
		fail_msg("%s", w->text);
}

static inline void world_end(struct world *w)
{
	root_close(&w->root);
	nftw(w->dir, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
