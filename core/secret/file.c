/* SPDX-License-Identifier: MIT */
/* Secrets on disk. The value goes from the descriptor into locked memory and nowhere else on
 * the way: no buffer of the C library, no text of an error. */
#include "secret/secret.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/trust.h"

#include <errno.h>
#include <unistd.h>

static int check_closed(int fd, const char *shown, const char *mode, struct stat *st,
			struct hcp_err *err)
{
	if (fstat(fd, st) < 0)
		return hcp_fail_errno(err, "%s", shown);
	if (st->st_mode & 077)
		return hcp_fail(err, HCP_E_CONFIG, "%s is open to others: chmod %s it", shown,
				mode);
	return 0;
}

static int fill(int fd, struct secret *s, const char *shown, struct hcp_err *err)
{
	size_t done = 0;
	ssize_t n;

	while (done < secret_len(s)) {
		n = read(fd, secret_bytes(s) + done, secret_len(s) - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hcp_fail_errno(err, "%s", shown);
		if (n == 0)
			return hcp_fail(err, HCP_E_CONFIG, "%s changed while it was read",
					shown);
		done += (size_t)n;
	}
	return 0;
}

static size_t without_newline(struct secret *s)
{
	const unsigned char *bytes = secret_bytes(s);
	size_t len = secret_len(s);

	if (len > 0 && bytes[len - 1] == '\n')
		len--;
	if (len > 0 && len < secret_len(s) && bytes[len - 1] == '\r')
		len--;
	return len;
}

static int take(int fd, const char *shown, struct secret **out, struct hcp_err *err)
{
	struct secret *s;
	struct stat st;

	if (check_closed(fd, shown, "600", &st, err) < 0)
		return -1;
	if (st.st_size > LIMIT_SECRET)
		return hcp_fail(err, HCP_E_CONFIG, "%s is over %d bytes", shown, LIMIT_SECRET);
	if (st.st_size == 0)
		return hcp_fail(err, HCP_E_CONFIG, "%s is empty", shown);
	s = secret_new((size_t)st.st_size);
	if (!s)
		return hcp_fail_nomem(err);
	if (fill(fd, s, shown, err) < 0) {
		secret_drop(s);
		return -1;
	}
	if (without_newline(s) == 0) {
		secret_drop(s);
		return hcp_fail(err, HCP_E_CONFIG, "%s is empty", shown);
	}
	secret_cut(s, without_newline(s));
	*out = s;
	return 0;
}

int secret_open_folder(const struct root *root, int *out, struct hcp_err *err)
{
	AUTO_BUF folder = {0};
	AUTO_FD dir = -1;
	struct stat st;

	*out = -1;
	buf_printf(&folder, "%s/secrets", root->path);
	if (folder.failed)
		return hcp_fail_nomem(err);
	if (trust_open_dir(root->fd, "secrets", root->path, &dir, err) < 0 ||
	    check_closed(dir, folder.data, "700", &st, err) < 0)
		return -1;
	*out = fd_steal(&dir);
	return 0;
}

int secret_read(const struct root *root, const char *name, struct secret **out,
		struct hcp_err *err)
{
	AUTO_FD dir = -1, fd = -1;
	AUTO_BUF folder = {0}, shown = {0};

	*out = NULL;
	if (!name_is_id(name))
		return hcp_fail(err, HCP_E_INVALID, "%s can't be the name of a secret", name);
	buf_printf(&folder, "%s/secrets", root->path);
	buf_printf(&shown, "%s/secrets/%s", root->path, name);
	if (folder.failed || shown.failed)
		return hcp_fail_nomem(err);
	if (secret_open_folder(root, &dir, err) < 0 ||
	    trust_open_file(dir, name, folder.data, &fd, err) < 0)
		return -1;
	return take(fd, shown.data, out, err);
}
