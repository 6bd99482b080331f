/* SPDX-License-Identifier: MIT */
#include "pack/lockfile.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/trust.h"
#include "base/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX_SIZE 65

/* ---- reading ---- */

static bool is_hex(const char *s)
{
	return strlen(s) == HEX_SIZE - 1 && strspn(s, "0123456789abcdef") == HEX_SIZE - 1;
}

static bool is_file(const json_t *v)
{
	const char *s = json_string_value(v);

	return s && (strcmp(s, "d") == 0 ||
		     (s[0] && strchr("fxl", s[0]) && s[1] == ' ' && is_hex(s + 2)));
}

static bool is_entry(const json_t *v)
{
	json_t *files = json_object_get(v, "files"), *signer = json_object_get(v, "signer"),
	       *file;
	const char *path;

	if (!json_is_string(json_object_get(v, "version")) || !json_object_size(files) ||
	    json_object_size(v) != (signer ? 3u : 2u))
		return false;
	if (signer && (!json_is_string(signer) || !is_hex(json_string_value(signer))))
		return false;
	json_object_foreach(files, path, file) if (!is_file(file)) return false;
	return true;
}

static bool is_lock(const json_t *v)
{
	json_t *packs = json_object_get(v, "packs"), *entry;
	const char *id;

	if (json_object_size(v) != 2 || !json_is_object(packs) ||
	    json_integer_value(json_object_get(v, "hcp")) != 1)
		return false;
	json_object_foreach(packs, id,
			    entry) if (!name_is_id(id) || !is_entry(entry)) return false;
	return true;
}

int lockfile_read(const struct root *root, json_t **out, struct hcp_err *err)
{
	AUTO_FREE char *text = NULL;
	struct hcp_err why = {0};
	size_t len;

	*out = NULL;
	if (trust_read(root->fd, LOCKFILE, root->path, LIMIT_LOCKFILE, &text, &len, &why) < 0) {
		if (why.code == HCP_E_SYS && errno == ENOENT)
			return 0;
		return hcp_fail(err, why.code, "%s", why.text);
	}
	*out = json_parse(text, len, 8, &why);
	if (*out && is_lock(*out))
		return 0;
	json_decref(*out);
	*out = NULL;
	return hcp_fail(err, HCP_E_CONFIG,
			"%s/" LOCKFILE " isn't what hcp wrote%s%s: put it back from a copy",
			root->path, why.text[0] ? ": " : "", why.text);
}

json_t *lockfile_entry(const json_t *lock, const char *id)
{
	return json_object_get(json_object_get(lock, "packs"), id);
}

/* ---- judging ---- */

/* "f <sha256>", x where it may be executed, l a link by its target; "d" a folder. */
static void file_text(const struct pack_file *f, char out[2 + HEX_SIZE])
{
	if (S_ISDIR(f->mode)) {
		memcpy(out, "d", 2);
		return;
	}
	out[0] = !S_ISREG(f->mode) ? 'l' : f->mode & 0111 ? 'x' : 'f';
	out[1] = ' ';
	sodium_bin2hex(out + 2, HEX_SIZE, f->sha256, sizeof(f->sha256));
}

/* The path of the first file that isn't what it was; NULL: all are. */
static const char *find_mismatch(json_t *files, const struct pack *p)
{
	char text[2 + HEX_SIZE];
	const char *path;
	json_t *file;

	for (size_t i = 0; i < p->file_count; i++) {
		file = json_object_get(files, p->files[i].path);
		file_text(&p->files[i], text);
		if (!file || strcmp(json_string_value(file), text) != 0)
			return p->files[i].path;
	}
	json_object_foreach(files, path, file) if (!pack_file(p, path)) return path;
	return NULL;
}

static int check_entry(const json_t *entry, struct pack *p, struct hcp_err *err)
{
	const char *path = find_mismatch(json_object_get(entry, "files"), p);
	const json_t *signer = json_object_get(entry, "signer");
	AUTO_BUF shown = {0};

	if (path) {
		/* whoever changed the folder also chose the name */
		utf8_clean(&shown, path, strlen(path));
		for (size_t i = 0; i < shown.len; i++)
			if ((unsigned char)shown.data[i] < 0x20 || shown.data[i] == 0x7f)
				shown.data[i] = '?';
		return hcp_fail(err, HCP_E_DENIED, "pack %s: digest mismatch: %s", p->id,
				shown.data ? shown.data : "");
	}
	p->locked = true;
	if (signer) {
		p->signer = arena_strdup(&p->arena, json_string_value(signer));
		if (!p->signer)
			return hcp_fail_nomem(err);
	}
	return 0;
}

int lockfile_check(const struct root *root, struct pack *p, struct hcp_err *err)
{
	const json_t *entry;
	json_t *lock;
	int rc;

	if (lockfile_read(root, &lock, err) < 0)
		return -1;
	entry = lockfile_entry(lock, p->id);
	rc = entry ? check_entry(entry, p, err) : 0;
	json_decref(lock);
	return rc;
}

/* ---- writing ---- */

json_t *lockfile_entry_of(const struct pack *p, const char *signer)
{
	json_t *files = json_object();
	char text[2 + HEX_SIZE];

	for (size_t i = 0; files && i < p->file_count; i++) {
		file_text(&p->files[i], text);
		if (json_object_set_new(files, p->files[i].path, json_string(text)) < 0) {
			json_decref(files);
			return NULL;
		}
	}
	return json_pack("{s:s,s:s*,s:o}", "version", p->version, "signer", signer, "files",
			 files);
}

static int replace(const struct root *root, const json_t *lock, struct hcp_err *err)
{
	static const char fresh[] = ".hcp.lock.new";
	AUTO_FREE char *text = json_dumps(lock, JSON_INDENT(2) | JSON_SORT_KEYS);
	AUTO_BUF line = {0};

	if (!text)
		return hcp_fail_nomem(err);
	buf_printf(&line, "%s\n", text);
	if (line.failed)
		return hcp_fail_nomem(err);
	if (line.len > LIMIT_LOCKFILE)
		return hcp_fail(err, HCP_E_LIMIT, "%s would hold too many files", LOCKFILE);
	/* the caller holds the lock */
	if (fd_write_fresh(root->fd, fresh, 0644, line.data, line.len, err) < 0)
		return -1;
	if (renameat(root->fd, fresh, root->fd, LOCKFILE) < 0 || fsync(root->fd) < 0)
		return hcp_fail_errno(err, "%s/" LOCKFILE, root->path);
	return 0;
}

int lockfile_set(const struct root *root, const char *id, json_t *entry, struct hcp_err *err)
{
	json_t *lock, *packs;
	int rc;

	if (lockfile_read(root, &lock, err) < 0) {
		json_decref(entry);
		return -1;
	}
	if (!lock)
		lock = json_pack("{s:i,s:{}}", "hcp", 1, "packs");
	packs = json_object_get(lock, "packs");
	if (entry)
		rc = json_object_set_new(packs, id, entry);
	else
		rc = json_object_del(packs, id);
	rc = rc < 0 ? hcp_fail_nomem(err) : replace(root, lock, err);
	json_decref(lock);
	return rc;
}
