/* SPDX-License-Identifier: MIT */
/* Reads and writes a link's file. The kernel starts the hcp that its first line names; what
 * the link stands for is told below that, so neither the name it is called by nor anything in
 * the environment decides which pack runs. */
#include "cli/link.h"

#include "base/conf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK            "# made by `hcp link`; taken away by `hcp unlink`\n"
#define FILE_MAX        32768
#define LINE_MAX_KERNEL 255 /* of a first line, see execve(2) */

struct link_conf {
	int64_t hcp;
	const char *pack_id, *root, *state, *session;
};

static const char *check_id(const char *text)
{
	return name_is_id(text) ? NULL : "must be the name of a pack";
}

static const char *check_path(const char *text)
{
	return text[0] == '/' ? NULL : "must be an absolute path";
}

#define ROW(k, t, member, ...)                                                                 \
	{                                                                                      \
		.key = k, .type = t, .offset = offsetof(struct link_conf, member), __VA_ARGS__ \
	}
static const struct conf_field rows[] = {
    ROW("hcp", CONF_INT, hcp, .required = true, .doc = "format version: 1"),
    ROW("pack_id", CONF_STRING, pack_id, .required = true, .check = check_id),
    ROW("root", CONF_STRING, root, .check = check_path),
    ROW("state", CONF_STRING, state, .check = check_path),
    ROW("session", CONF_STRING, session),
};
static const struct conf_table table = CONF_ROWS("a link", rows);

/* "#!/…/hcp linked", then the mark. */
static bool is_ours(const char *text)
{
	const char *end = strchr(text, '\n');
	const char word[] = " " CLI_LINKED;
	size_t len = end ? (size_t)(end - text) : 0;

	return str_starts(text, "#!/") && len > sizeof(word) &&
	       strncmp(end - (sizeof(word) - 1), word, sizeof(word) - 1) == 0 &&
	       str_starts(end + 1, MARK);
}

static int parse(struct arena *a, const char *path, const char *text, size_t len,
		 struct link_file *out, struct hcp_err *err)
{
	struct conf_ctx c = {a, path, NULL};
	struct link_conf conf = {0};
	const struct yaml_node *top;

	if (yaml_parse(a, path, text, len, &top, err) < 0 ||
	    conf_read(&c, top, &table, &conf, err) < 0 || conf_check_format(&c, top, err) < 0)
		return -1;
	*out = (struct link_file){conf.pack_id, conf.root, conf.state, conf.session};
	return 0;
}

int link_read(int dirfd, const char *path, struct arena *a, struct link_file *out,
	      struct hcp_err *err)
{
	AUTO_FD fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *text = NULL;
	struct hcp_err unread = {0};
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX ||
	    fd_read_all(fd, FILE_MAX, &text, &len, &unread) < 0 || !is_ours(text))
		return 0;
	return parse(a, path, text, len, out, err) < 0 ? -1 : 1;
}

/* ---- writing ---- */

static bool same_file(const char *path, const struct stat *st)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == st->st_dev &&
	       other.st_ino == st->st_ino;
}

/* The hcp that PATH finds, where it is the one that runs: a link then outlives an upgrade that
 * changes what that name means. Else its own file. */
struct self {
	struct stat st;
	char path[PATH_MAX];
};

static int is_self(void *user, const char *folder)
{
	struct self *s = user;
	char path[PATH_MAX];

	if (folder[0] != '/' ||
	    (size_t)snprintf(path, sizeof(path), "%s/hcp", folder) >= sizeof(path) ||
	    !same_file(path, &s->st))
		return 0;
	memcpy(s->path, path, sizeof(path));
	return 1;
}

static int find_self(struct self *s, struct hcp_err *err)
{
	const char *path = getenv("PATH");
	ssize_t len;

	if (stat("/proc/self/exe", &s->st) < 0)
		return hcp_fail_errno(err, "/proc/self/exe");
	if (path && link_each_folder(path, is_self, s))
		return 0;
	len = readlink("/proc/self/exe", s->path, sizeof(s->path) - 1);
	if (len < 0)
		return hcp_fail_errno(err, "/proc/self/exe");
	s->path[len] = '\0';
	return 0;
}

static void add_line(struct buf *out, const char *key, const char *value)
{
	if (!value)
		return;
	buf_printf(out, "%s: ", key);
	json_add_cstring(out, value); /* a JSON string is a YAML one */
	buf_putc(out, '\n');
}

static int compose(const struct link_file *l, struct buf *out, struct hcp_err *err)
{
	struct self self;

	if (find_self(&self, err) < 0)
		return -1;
	if (strpbrk(self.path, " \t\n") ||
	    strlen(self.path) + sizeof("#! " CLI_LINKED) > LINE_MAX_KERNEL)
		return hcp_fail(err, HCP_E_CONFIG,
				"hcp is at %s: a path with blanks or of more than %zu bytes "
				"can't start a program",
				self.path, LINE_MAX_KERNEL - sizeof("#! " CLI_LINKED));
	buf_printf(out, "#!%s " CLI_LINKED "\n" MARK "hcp: 1\n", self.path);
	add_line(out, "pack_id", l->pack_id);
	add_line(out, "root", l->root);
	add_line(out, "state", l->state);
	add_line(out, "session", l->session);
	return out->failed ? hcp_fail_nomem(err) : 0;
}

int link_write(int dirfd, const char *name, const struct link_file *l, bool fresh,
	       struct hcp_err *err)
{
	AUTO_BUF text = {0};
	char temporary[NAME_MAX + 1];
	AUTO_FD fd = -1;
	int rc;

	if (compose(l, &text, err) < 0)
		return -1;
	snprintf(temporary, sizeof(temporary), ".%.64s.%d", name, (int)getpid());
	fd = openat(dirfd, temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0755);
	if (fd < 0)
		return hcp_fail_errno(err, "%s", name);
	rc = fd_write_all(fd, text.data, text.len, err);
	fd_close(&fd); /* a file that is open for writing can't be started */
	if (rc == 0 &&
	    renameat2(dirfd, temporary, dirfd, name, fresh ? RENAME_NOREPLACE : 0) < 0)
		rc = hcp_fail_errno(err, "%s", name);
	if (rc < 0)
		unlinkat(dirfd, temporary, 0);
	return rc;
}
