/* SPDX-License-Identifier: MIT */
/* The one reading of a pack's folder. Everything beneath it is walked by descriptor, judged,
 * hashed and sorted into a list; the texts that decide something are kept from the very bytes
 * that were hashed. Never follows a link and never opens anything by a path from the root. */
#include "pack/manifest.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

struct reading {
	struct pack *pack;
	struct pack_file *files; /* malloc'ed, grows */
	size_t count, cap;
	size_t bytes; /* hashed so far */
};

/* A folder of the pack. */
struct folder {
	int fd;
	const char *rel;   /* "" or "bin" */
	const char *shown; /* "packs/ledger/bin" */
	unsigned depth;
};

static int add_file(struct reading *r, const struct pack_file *f, struct hcp_err *err)
{
	size_t cap = r->cap ? r->cap * 2 : 32;
	struct pack_file *bigger;

	if (r->count >= LIMIT_PACK_FILES)
		return hcp_fail(err, HCP_E_LIMIT, "%s holds more than %d files", r->pack->shown,
				LIMIT_PACK_FILES);
	if (r->count == r->cap) {
		bigger = realloc(r->files, cap * sizeof(*bigger));
		if (!bigger)
			return hcp_fail_nomem(err);
		r->files = bigger;
		r->cap = cap;
	}
	r->files[r->count++] = *f;
	return 0;
}

static int count_bytes(struct reading *r, size_t n, struct hcp_err *err)
{
	if (n > (size_t)LIMIT_PACK_BYTES - r->bytes)
		return hcp_fail(err, HCP_E_LIMIT, "%s holds more than %ldM", r->pack->shown,
				LIMIT_PACK_BYTES >> 20);
	r->bytes += n;
	return 0;
}

static bool is_kept(const char *path)
{
	size_t n = strlen(path);

	return str_eq(path, "pack.yaml") || str_eq(path, "policy.yaml") ||
	       str_eq(path, PACK_SIGNATURE) || (n > 4 && !strcmp(path + n - 4, ".lua"));
}

static int keep(struct reading *r, int fd, const char *shown, struct pack_file *f,
		struct hcp_err *err)
{
	struct hcp_err why = {0};
	AUTO_FREE char *text = NULL;

	if (fd_read_all(fd, LIMIT_SCRIPT, &text, &f->size, &why) < 0)
		return hcp_fail(err, why.code, "%s: %s", shown, why.text);
	if (count_bytes(r, f->size, err) < 0)
		return -1;
	f->text = arena_strndup(&r->pack->arena, text, f->size);
	if (!f->text)
		return hcp_fail_nomem(err);
	crypto_hash_sha256(f->sha256, (const unsigned char *)f->text, f->size);
	return 0;
}

static int hash(struct reading *r, int fd, const char *shown, struct pack_file *f,
		struct hcp_err *err)
{
	unsigned char part[16384];
	crypto_hash_sha256_state state;
	ssize_t n;

	crypto_hash_sha256_init(&state);
	for (;;) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hcp_fail_errno(err, "%s", shown);
		if (n == 0)
			break;
		/* the size is what was read, not what fstat said: a file may grow meanwhile */
		if (count_bytes(r, (size_t)n, err) < 0)
			return -1;
		f->size += (size_t)n;
		crypto_hash_sha256_update(&state, part, (unsigned long long)n);
	}
	crypto_hash_sha256_final(&state, f->sha256);
	return 0;
}

static int read_regular(struct reading *r, const struct folder *in, const char *name,
			const char *shown, struct pack_file *f, struct hcp_err *err)
{
	AUTO_FD fd = -1;
	struct stat st;

	if (trust_open_file(in->fd, name, in->shown, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s", shown);
	f->mode = st.st_mode;
	if (is_kept(f->path))
		return keep(r, fd, shown, f, err);
	return hash(r, fd, shown, f, err);
}

/* A link counts by its text; what it names is somebody else's file or counts by itself. */
static int read_link(struct reading *r, const struct folder *in, const char *name,
		     const char *shown, struct pack_file *f, struct hcp_err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(in->fd, name, target, sizeof(target));

	if (n < 0)
		return hcp_fail_errno(err, "%s", shown);
	if (count_bytes(r, (size_t)n, err) < 0)
		return -1;
	f->size = (size_t)n;
	crypto_hash_sha256(f->sha256, (const unsigned char *)target, f->size);
	return 0;
}

static int read_folder(struct reading *r, const struct folder *in, struct hcp_err *err);

static int read_subfolder(struct reading *r, const struct folder *in, const char *name,
			  const char *shown, const char *rel, struct hcp_err *err)
{
	struct folder sub = {-1, rel, shown, in->depth + 1};
	int rc;

	if (sub.depth > LIMIT_PACK_DEPTH)
		return hcp_fail(err, HCP_E_LIMIT, "%s: folders nested deeper than %d", shown,
				LIMIT_PACK_DEPTH);
	if (trust_open_dir(in->fd, name, in->shown, &sub.fd, err) < 0)
		return -1;
	rc = read_folder(r, &sub, err);
	fd_close(&sub.fd);
	return rc;
}

static int read_entry(struct reading *r, const struct folder *in, const char *name,
		      struct hcp_err *err)
{
	struct arena *a = &r->pack->arena;
	const char *shown = arena_printf(a, "%s/%s", in->shown, name);
	struct pack_file f = {0};
	struct stat st;
	int rc = 0;

	f.path = in->rel[0] ? arena_printf(a, "%s/%s", in->rel, name) : arena_strdup(a, name);
	if (!shown || !f.path)
		return hcp_fail_nomem(err);
	if (fstatat(in->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return hcp_fail_errno(err, "%s", shown);
	f.mode = st.st_mode;
	pack_mark(&st, &f.mark);
	if (S_ISREG(st.st_mode))
		rc = read_regular(r, in, name, shown, &f, err);
	else if (S_ISLNK(st.st_mode))
		rc = read_link(r, in, name, shown, &f, err);
	else if (!S_ISDIR(st.st_mode))
		return hcp_fail(err, HCP_E_CONFIG,
				"%s is neither a file nor a folder nor a link", shown);
	if (rc < 0 || add_file(r, &f, err) < 0)
		return -1;
	return S_ISDIR(st.st_mode) ? read_subfolder(r, in, name, shown, f.path, err) : 0;
}

static int read_folder(struct reading *r, const struct folder *in, struct hcp_err *err)
{
	/* a descriptor of its own, for closedir closes what it was given and readdir moves it
	 */
	AUTO_FD fd = fd_above_stdio(openat(in->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	int rc = 0;

	if (!dir)
		return hcp_fail_errno(err, "%s", in->shown);
	fd_steal(&fd);
	while (rc == 0) {
		errno = 0;
		e = readdir(dir);
		if (!e && errno)
			rc = hcp_fail_errno(err, "%s", in->shown);
		if (!e)
			break;
		if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
			rc = read_entry(r, in, e->d_name, err);
	}
	closedir(dir);
	return rc;
}

void pack_mark(const struct stat *st, struct pack_mark *out)
{
	*out = (struct pack_mark){st->st_dev, st->st_ino,  st->st_mode, st->st_uid,
				  st->st_gid, st->st_size, st->st_mtim, st->st_ctim};
}

static int by_path(const void *a, const void *b)
{
	const struct pack_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Each entry: type, executable or not, path, NUL, size in 8 bytes (most significant first), and
 * for files and links the SHA-256 of content or target. Owner, times and other mode bits stay
 * out: a pack that was copied is the same pack. */
void pack_digest(const struct pack *p, const char *without, char text[PACK_DIGEST_SIZE])
{
	static const char head[] = "hcp pack 1\n";
	unsigned char out[crypto_hash_sha256_BYTES], size[8];
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const unsigned char *)head, sizeof(head) - 1);
	for (size_t i = 0; i < p->file_count; i++) {
		const struct pack_file *f = &p->files[i];
		bool file = S_ISREG(f->mode);
		unsigned char kind[2] = {file               ? 'f'
					 : S_ISDIR(f->mode) ? 'd'
							    : 'l',
					 file && (f->mode & 0111) ? 'x' : '-'};

		if (str_eq(f->path, without))
			continue;
		for (unsigned b = 0; b < 8; b++)
			size[b] = (unsigned char)((uint64_t)f->size >> (56 - 8 * b));
		crypto_hash_sha256_update(&state, kind, sizeof(kind));
		crypto_hash_sha256_update(&state, (const unsigned char *)f->path,
					  strlen(f->path) + 1);
		crypto_hash_sha256_update(&state, size, sizeof(size));
		crypto_hash_sha256_update(&state, f->sha256, sizeof(f->sha256));
	}
	crypto_hash_sha256_final(&state, out);
	memcpy(text, "sha256:", 7);
	sodium_bin2hex(text + 7, PACK_DIGEST_SIZE - 7, out, sizeof(out));
}

int pack_read(struct pack *p, struct hcp_err *err)
{
	struct reading r = {.pack = p};
	const struct folder top = {p->fd, "", p->shown, 0};
	struct stat st;
	int rc = fstat(p->fd, &st) < 0 ? hcp_fail_errno(err, "%s", p->shown) : 0;

	if (rc == 0) {
		pack_mark(&st, &p->top);
		rc = read_folder(&r, &top, err);
	}
	if (rc == 0) {
		p->files = arena_array(&p->arena, r.count + 1, sizeof(*p->files));
		if (!p->files)
			rc = hcp_fail_nomem(err);
	}
	if (rc == 0) {
		if (r.count)
			memcpy(p->files, r.files, r.count * sizeof(*p->files));
		p->file_count = r.count;
		qsort(p->files, p->file_count, sizeof(*p->files), by_path);
		pack_digest(p, NULL, p->digest);
	}
	free(r.files);
	return rc;
}
