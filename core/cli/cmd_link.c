/* SPDX-License-Identifier: MIT */
/* hcp link and hcp unlink. What a link says was judged here: the pack loads, the name is free,
 * and no file but a link of the same pack is ever written over or taken away. */
#include "cli/cli.h"
#include "cli/link.h"

#include "base/fd.h"
#include "box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPT(member) offsetof(struct cli, member)
/* unlink has all but the first */
const struct cli_option cli_link_options[] = {
    {"--as", NULL, "NAME", "the command's name (else the pack's `bin`)", OPT(as)},
    {"--dir", NULL, "DIR", "the folder for it (else ~/.local/bin)", OPT(dir)},
    {NULL, NULL, NULL, NULL, 0},
};

struct place {
	char path[PATH_MAX];
	int fd;
	struct arena arena;
};

/* The default folder is made where it isn't there; one that is named must be. */
static int choose_folder(const struct cli *c, struct place *p, bool create)
{
	const char *home = getenv("HOME");
	char local[PATH_MAX];

	if (!c->dir && (!home || home[0] != '/'))
		return cli_fail(CLI_USAGE, "HOME is not set: name a folder with --dir");
	if ((size_t)snprintf(p->path, sizeof(p->path), "%s%s", c->dir ? c->dir : home,
			     c->dir ? "" : "/.local/bin") >= sizeof(p->path))
		return cli_fail(CLI_USAGE, "the folder's path is too long");
	if (!c->dir && create) {
		snprintf(local, sizeof(local), "%s/.local", home);
		mkdir(local, 0755);
		mkdir(p->path, 0755); /* what is missing now is told by open */
	}
	return 0;
}

static int open_folder(const struct cli *c, struct place *p, bool create)
{
	char real[PATH_MAX];
	int status = choose_folder(c, p, create);

	if (status)
		return status;
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->fd < 0 || !realpath(p->path, real))
		return cli_fail(CLI_RUNTIME, "%s: %s", p->path, strerrordesc_np(errno));
	strcpy(p->path, real);
	return 0;
}

static void place_close(struct place *p)
{
	fd_close(&p->fd);
	arena_free(&p->arena);
}

/* As it is from everywhere, links in it as they are. 0 or the exit status. */
static int absolute(struct place *p, const char *path, const char **out)
{
	char here[PATH_MAX];

	*out = path;
	if (!path || path[0] == '/')
		return 0;
	if (!getcwd(here, sizeof(here)))
		return cli_fail(CLI_RUNTIME, "the working folder: %s", strerrordesc_np(errno));
	*out = arena_printf(&p->arena, "%s/%s", here, path);
	return *out ? 0 : cli_fail(CLI_RUNTIME, "out of memory");
}

struct lookup {
	const char *name;
	const struct place *place;
	bool ours; /* the place is one of the folders */
	char found[PATH_MAX];
};

static int first_hit(void *user, const char *folder)
{
	struct lookup *l = user;

	return (size_t)snprintf(l->found, sizeof(l->found), "%s/%s", folder, l->name) <
		   sizeof(l->found) &&
	       access(l->found, X_OK) == 0;
}

static int look_elsewhere(void *user, const char *folder)
{
	struct lookup *l = user;
	struct stat a, b;

	if (stat(folder, &a) < 0 || fstat(l->place->fd, &b) < 0)
		return 0;
	if (a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
		l->ours = true;
		return 0;
	}
	if (!l->found[0] && !first_hit(l, folder))
		l->found[0] = '\0';
	return 0;
}

/* Where programs in the sandbox look, too, one that they call by name must stay what it is: the
 * pack's own would call the link, and that the pack. */
static int judge_folder(const struct place *p, const char *name)
{
	struct lookup l = {.name = name, .place = p};

	link_each_folder(BOX_PATH, look_elsewhere, &l);
	if (!l.ours || !l.found[0])
		return 0;
	return cli_fail(1,
			"in %s a link would hide %s from sandboxed programs: choose another "
			"name with --as or another folder with --dir",
			p->path, l.found);
}

/* Whether NAME is free, or a link of the same pack. 0 or the exit status. */
static int judge_place(struct place *p, const char *name, const char *pack, bool *fresh)
{
	struct link_file old;
	struct hcp_err err = {0};
	struct stat st;
	int rc;

	*fresh = fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
	if (*fresh)
		return 0;
	rc = S_ISREG(st.st_mode) ? link_read(p->fd, name, &p->arena, &old, &err) : 0;
	if (rc == 0)
		return cli_fail(1,
				"%s/%s is there and is no link of hcp's: choose another name "
				"with --as or another folder with --dir",
				p->path, name);
	if (rc > 0 && strcmp(old.pack_id, pack) != 0)
		return cli_fail(1,
				"%s/%s is the pack %s: hcp unlink %s, or choose another name "
				"with --as",
				p->path, name, old.pack_id, name);
	return 0;
}

/* What a shell finds by that name isn't always what was just made. */
static void hint_path(const struct place *p, const char *name)
{
	const char *path = getenv("PATH");
	struct lookup l = {.name = name};
	struct stat a, b;

	if (!path || !link_each_folder(path, first_hit, &l))
		cli_hint("%s is not in PATH: export PATH=\"%s:$PATH\"", p->path, p->path);
	else if (stat(l.found, &a) == 0 && fstatat(p->fd, name, &b, 0) == 0 &&
		 (a.st_dev != b.st_dev || a.st_ino != b.st_ino))
		cli_hint("%s comes first in PATH and hides it", l.found);
}

static int tell(const struct cli *c, const struct place *p, const char *name, const char *pack)
{
	json_t *said =
	    json_pack("{s:s+++,s:s}", "link", p->path, "/", name, "", "pack_id", pack);
	char *text = said ? json_dumps(said, JSON_COMPACT) : NULL;
	int status = text ? cli_print_json(c, hcp_str_from(text))
			  : cli_fail(CLI_RUNTIME, "the path is not UTF-8");

	free(text);
	json_decref(said);
	return status;
}

static int make(const struct cli *c, struct place *p, const char *name, const char *pack)
{
	struct link_file l = {.pack_id = pack, .session = c->session};
	struct hcp_err err = {0};
	bool fresh;
	int status = open_folder(c, p, true);

	if (status == 0)
		status = absolute(p, c->root, &l.root);
	if (status == 0)
		status = absolute(p, c->state, &l.state);
	if (status == 0)
		status = judge_place(p, name, pack, &fresh);
	if (status == 0)
		status = judge_folder(p, name);
	if (status)
		return status;
	if (link_write(p->fd, name, &l, fresh, &err) < 0)
		return cli_fail(CLI_RUNTIME, "%s: %s", p->path, err.text);
	status = tell(c, p, name, pack);
	hint_path(p, name);
	return status;
}

static int link_pack(const struct cli *c, const json_t *manifest, const char *pack)
{
	const char *name = c->as ? c->as : cli_text(manifest, "bin");
	struct place p = {.fd = -1};
	struct hcp_err err = {0};
	int status;

	if (link_judge_name(name, &err) < 0)
		return cli_fail(CLI_USAGE, "%s", err.text);
	status = make(c, &p, name, pack);
	place_close(&p);
	return status;
}

int cmd_link(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status said;
	json_t *manifest;
	int status;

	if (c->argc != 1)
		return cli_usage(cli_verb_of(cmd_link), "one pack is needed");
	said = hcp_describe(c->rt, c->call, c->argv[0], &res, &err);
	if (said != HCP_OK)
		return cli_status(said, &err);
	manifest = cli_value(res);
	status = manifest ? link_pack(c, manifest, c->argv[0])
			  : cli_fail(CLI_RUNTIME, "out of memory");
	json_decref(manifest);
	hcp_result_free(res);
	return status;
}

static int take_away(const struct cli *c, struct place *p, const char *name)
{
	struct link_file old = {0};
	struct hcp_err err = {0};
	struct stat st;
	int status = open_folder(c, p, false);

	if (status)
		return status;
	if (fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return cli_fail(1, "there is no link %s/%s", p->path, name);
	if (!S_ISREG(st.st_mode) || link_read(p->fd, name, &p->arena, &old, &err) == 0)
		return cli_fail(1, "%s/%s is no link of hcp's", p->path, name);
	if (unlinkat(p->fd, name, 0) < 0)
		return cli_fail(CLI_RUNTIME, "%s/%s: %s", p->path, name,
				strerrordesc_np(errno));
	return tell(c, p, name, old.pack_id ? old.pack_id : "");
}

int cmd_unlink(struct cli *c)
{
	struct place p = {.fd = -1};
	int status;

	if (c->argc != 1 || !name_is_id(c->argv[0]))
		return cli_usage(cli_verb_of(cmd_unlink), "the name of one link is needed");
	status = take_away(c, &p, c->argv[0]);
	place_close(&p);
	return status;
}
