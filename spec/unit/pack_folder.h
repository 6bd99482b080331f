/* SPDX-License-Identifier: MIT */
/* A throw-away root with packs, for the unit tests of pack/. Included after cmocka.h. */
#ifndef HCP_SPEC_PACK_FOLDER_H
#define HCP_SPEC_PACK_FOLDER_H

#include "base/fd.h"
#include "pack/pack.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char path[64];
	struct root root;
	struct settings set;
	const char *dirs[2];
	struct pack *pack;
	struct hcp_err err;
};

static inline void folder_open(struct folder *f)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "/tmp/hcp-pack-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->root.path = f->path;
	f->root.fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root.fd >= 0);
	f->dirs[0] = "packs";
	f->set.packs = (struct conf_strings){.count = 1, .items = f->dirs};
}

static inline int folder_remove_one(const char *path, const struct stat *st, int flag,
				    struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void folder_close(struct folder *f)
{
	pack_close(f->pack);
	close(f->root.fd);
	nftw(f->path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file, its folders made where missing; NULL text removes it. */
static inline void folder_put(struct folder *f, const char *rel, const char *text)
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", f->path, rel);
	for (char *p = path + strlen(f->path) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0755) == 0)
			chmod(path, 0755);
		*p = '/';
	}
	unlink(path);
	if (!text)
		return;
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	chmod(path, 0644);
}

static inline void folder_chmod(struct folder *f, const char *rel, mode_t mode)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->path, rel);
	assert_int_equal(chmod(path, mode), 0);
}

/* f->pack, or NULL with f->err. */
static inline struct pack *folder_load(struct folder *f, const char *id)
{
	pack_close(f->pack);
	memset(&f->err, 0, sizeof(f->err));
	if (pack_open(&f->root, &f->set, id, &f->pack, &f->err) < 0) {
		assert_null(f->pack);
		assert_int_not_equal(f->err.code, HCP_E_NONE);
	}
	return f->pack;
}

static inline void folder_expect(struct folder *f, const char *id, const char *text)
{
	assert_null(folder_load(f, id));
	assert_string_equal(f->err.text, text);
	assert_int_equal(f->err.code, HCP_E_DENIED);
}

#endif
