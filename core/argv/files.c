/* SPDX-License-Identifier: MIT */
/* Paths in a rendered argv (§6.4 step 7). Text only: links are the caller's to check. Host
 * paths are judged on what was written, before anything is rewritten, so that a jail whose real
 * place lies beneath /home doesn't decide. */
#include "argv/template.h"

#include "base/limits.h"

#include <string.h>

static const char scheme[] = "workspace:";
#define SCHEME (sizeof(scheme) - 1)

struct rewrite {
	const struct argv_files *files;
	struct arena *arena;
	struct conf_strings *paths;
};

static bool is_host_folder(const char *s, size_t len)
{
	static const char *const names[] = {"etc", "home", "root", "Users"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !memcmp(s, names[i], len))
			return true;
	return false;
}

/* `-fX` of a file flag "-f": where X begins, else 0. */
static size_t attached(const char *token, const struct conf_strings *flags)
{
	if (token[0] != '-' || !token[1] || token[1] == '-' || !token[2])
		return 0;
	for (size_t i = 0; i < flags->count; i++)
		if (strlen(flags->items[i]) == 2 && str_starts(token, flags->items[i]))
			return 2;
	return 0;
}

/* Whether a value begins at `at`: the token itself, behind any '=', attached to a flag. */
static bool begins_value(const char *token, size_t at, const struct conf_strings *flags)
{
	return !at || token[at - 1] == '=' || (at == 2 && attached(token, flags) == 2);
}

static bool begins_path(const char *token, size_t at, const struct conf_strings *flags)
{
	if (begins_value(token, at, flags))
		return true;
	return at >= SCHEME && !memcmp(token + at - SCHEME, scheme, SCHEME) &&
	       begins_value(token, at - SCHEME, flags);
}

static bool is_up(const char *s, size_t len)
{
	return len == 2 && s[0] == '.' && s[1] == '.';
}

static bool is_nothing(const char *s, size_t len)
{
	return !len || (len == 1 && s[0] == '.');
}

/* From the right, one pass for every path that may begin in the token: a ".." takes the nearest
 * name to its left, so whether a name stays doesn't depend on where the path begins. */
static bool names_host_path(const char *token, const struct conf_strings *flags)
{
	size_t end = strlen(token), ups = 0;
	bool host = false; /* of the leftmost name that stays */

	for (size_t i = end; i-- > 0;) {
		const char *s = token + i + 1;
		size_t len = end - i - 1;

		if (token[i] != '/')
			continue;
		end = i;
		if (is_up(s, len))
			ups++;
		else if (!is_nothing(s, len) && ups)
			ups--;
		else if (!is_nothing(s, len))
			host = is_host_folder(s, len);
		if (host && begins_path(token, i, flags))
			return true;
	}
	return false;
}

/* The path's names without ".", ".." and "//", "." where none is left; a leading '/' doesn't
 * count. *escapes: a ".." stood where there was nothing left to leave. NULL: no memory. */
static char *normalise(struct arena *a, const char *path, bool *escapes)
{
	char *out = arena_alloc(a, strlen(path) + 2);
	size_t n = 0, len;

	*escapes = false;
	for (; out && *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (is_nothing(path, len))
			continue;
		if (is_up(path, len)) {
			*escapes |= !n;
			while (n && out[--n] != '/')
				;
			continue;
		}
		if (n)
			out[n++] = '/';
		memcpy(out + n, path, len);
		n += len;
	}
	if (out)
		memcpy(out + n, n ? "" : ".", n ? 1 : 2);
	return out;
}

/* token[0..at) + the jail + rel, in place of the token. */
static int put(const struct rewrite *w, char **token, size_t at, const char *rel,
	       struct hcp_err *err)
{
	const char *jail = w->files->jail_inside;
	size_t jail_len = strlen(jail), rel_len;
	bool escapes;
	char *path, *text;

	path = normalise(w->arena, rel, &escapes);
	if (!path)
		return hcp_fail_nomem(err);
	if (escapes)
		return hcp_fail(err, HCP_E_DENIED, "sandbox: path escapes workspace");
	rel_len = str_eq(path, ".") ? 0 : strlen(path);
	if (at + jail_len + 1 + rel_len > LIMIT_ARGV_TOKEN)
		return hcp_fail(err, HCP_E_DENIED, "invalid args: too long");
	text = arena_alloc(w->arena, at + jail_len + rel_len + 2);
	if (!text)
		return hcp_fail_nomem(err);
	memcpy(text, *token, at);
	memcpy(text + at, jail, jail_len);
	if (rel_len) {
		text[at + jail_len] = '/';
		memcpy(text + at + jail_len + 1, path, rel_len);
	}
	*token = text;
	w->paths->items[w->paths->count++] = path;
	return 0;
}

/* What an absolute path is called from the jail, NULL where it lies elsewhere. */
static int in_jail(const struct rewrite *w, const char *path, const char **rel,
		   struct hcp_err *err)
{
	bool escapes;
	size_t len;
	const char *inside, *jail;

	*rel = NULL;
	if (!w->files->has_jail)
		return 0;
	inside = normalise(w->arena, path, &escapes);
	jail = normalise(w->arena, w->files->jail_inside, &escapes);
	if (!inside || !jail)
		return hcp_fail_nomem(err);
	len = strlen(jail);
	if (str_starts(inside, jail) && (!inside[len] || inside[len] == '/'))
		*rel = inside + len;
	return 0;
}

/* The value that begins at `at` in the token. */
static int rewrite_value(const struct rewrite *w, char **token, size_t at, bool is_file,
			 struct hcp_err *err)
{
	const char *value = *token + at, *rel = value;

	if (str_starts(value, scheme)) {
		rel = value + SCHEME;
	} else if (!is_file || !*value) {
		return 0;
	} else if (*value == '/') {
		if (in_jail(w, value, &rel, err) < 0)
			return -1;
		if (!rel)
			return 0;
	}
	if (!w->files->has_jail)
		return hcp_fail(err, HCP_E_DENIED, "sandbox: no workspace");
	return put(w, token, at, rel, err);
}

static bool is_flag(const char *token, size_t len, const struct conf_strings *flags)
{
	for (size_t i = 0; i < flags->count; i++)
		if (strlen(flags->items[i]) == len && !memcmp(token, flags->items[i], len))
			return true;
	return false;
}

static int rewrite_token(const struct rewrite *w, char **token, bool options,
			 struct hcp_err *err)
{
	const struct conf_strings *flags = w->files->file_flags;
	const char *equals = strchr(*token, '=');
	size_t name = equals ? (size_t)(equals - *token) : 0;

	if (options && equals && is_flag(*token, name, flags))
		return rewrite_value(w, token, name + 1, true, err);
	if (options && attached(*token, flags))
		return rewrite_value(w, token, attached(*token, flags), true, err);
	return rewrite_value(w, token, equals && **token == '-' ? name + 1 : 0, false, err);
}

static int rewrite_all(const struct rewrite *w, char **argv, size_t argc, struct hcp_err *err)
{
	const struct conf_strings *flags = w->files->file_flags;
	bool options = true;

	for (size_t i = 1; i < argc; i++) {
		int rc;

		if (options && is_flag(argv[i], strlen(argv[i]), flags)) {
			/* the next one is its value, whatever it looks like */
			rc = ++i < argc ? rewrite_value(w, &argv[i], 0, true, err) : 0;
		} else {
			options = options && !str_eq(argv[i], "--");
			rc = rewrite_token(w, &argv[i], options, err);
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

int argv_rewrite_files(char **argv, size_t argc, const struct argv_files *files,
		       struct arena *a, struct conf_strings *paths, struct hcp_err *err)
{
	static const struct conf_strings none;
	struct argv_files f = *files;
	const struct rewrite w = {&f, a, paths};

	*paths = (struct conf_strings){.given = true};
	f.has_jail = f.has_jail && f.jail_inside;
	f.file_flags = f.file_flags ? f.file_flags : &none;
	for (size_t i = 1; i < argc; i++)
		if (names_host_path(argv[i], f.file_flags))
			return hcp_fail(err, HCP_E_DENIED, "sandbox: host path not allowed");
	paths->items = arena_array(a, argc + 1, sizeof(*paths->items));
	if (!paths->items)
		return hcp_fail_nomem(err);
	return rewrite_all(&w, argv, argc, err);
}
