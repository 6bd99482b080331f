/* SPDX-License-Identifier: MIT */
/* Which names a link must not take: a command that hides hcp, a shell or an interpreter breaks
 * whatever is started by that name, and may call itself for ever. */
#include "cli/link.h"

#include "base/str.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Without version numbers: python3.11 is python. */
static const char *const kept[] = {
    "hcp",  "hcp-init", "sh",   "bash",   "rbash", "dash",   "ash",    "zsh",   "ksh",
    "mksh", "csh",      "tcsh", "fish",   "nu",    "env",    "python", "perl",  "ruby",
    "lua",  "luajit",   "node", "nodejs", "deno",  "bun",    "php",    "tclsh", "guile",
    "awk",  "busybox",  "sudo", "doas",   "su",    "pkexec", NULL};

int link_each_folder(const char *path, int (*fn)(void *user, const char *folder), void *user)
{
	char folder[PATH_MAX];
	size_t len;
	int rc;

	for (; *path; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		if (len == 0 || len >= sizeof(folder))
			continue;
		memcpy(folder, path, len);
		folder[len] = '\0';
		rc = fn(user, folder);
		if (rc)
			return rc;
	}
	return 0;
}

static bool is_kept(const char *name)
{
	size_t len = strlen(name);

	while (len > 1 &&
	       (isdigit((unsigned char)name[len - 1]) || strchr(".-", name[len - 1])))
		len--;
	for (size_t i = 0; kept[i]; i++)
		if (strlen(kept[i]) == len && strncmp(kept[i], name, len) == 0)
			return true;
	return false;
}

struct search {
	const char *name, *path;
	struct stat st;      /* of what `name` finds */
	const char *same_as; /* the kept name with that file */
};

static bool stat_in(const char *folder, const char *name, struct stat *st)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path) &&
	       stat(path, st) == 0;
}

static int compare(void *user, const char *folder)
{
	struct search *s = user;
	struct stat st;

	for (size_t i = 0; kept[i]; i++)
		if (stat_in(folder, kept[i], &st) && st.st_dev == s->st.st_dev &&
		    st.st_ino == s->st.st_ino) {
			s->same_as = kept[i];
			return 1;
		}
	return 0;
}

/* What the name means in one folder, against every kept name of all folders. */
static int look(void *user, const char *folder)
{
	struct search *s = user;
	struct stat self;

	if (!stat_in(folder, s->name, &s->st))
		return 0;
	if (stat("/proc/self/exe", &self) == 0 && self.st_dev == s->st.st_dev &&
	    self.st_ino == s->st.st_ino) {
		s->same_as = "hcp";
		return 1;
	}
	return link_each_folder(s->path, compare, s);
}

int link_judge_name(const char *name, struct hcp_err *err)
{
	const char *path = getenv("PATH");
	struct search s = {.name = name, .path = path ? path : ""};

	if (!name_is_id(name))
		return hcp_fail(err, HCP_E_INVALID,
				"a link is named by a letter or digit and at most 63 more of "
				"A-Z a-z 0-9 . _ -");
	if (is_kept(name))
		return hcp_fail(err, HCP_E_INVALID,
				"a link can't be named %s: it would hide hcp, a shell or an "
				"interpreter; choose another name with --as",
				name);
	if (link_each_folder(s.path, look, &s))
		return hcp_fail(err, HCP_E_INVALID,
				"a link can't be named %s: that is %s here; choose another "
				"name with --as",
				name, s.same_as);
	return 0;
}
