/* SPDX-License-Identifier: MIT */
/* The programs that a pack says it needs, looked for where its runs would look: nothing is
 * opened or judged here, only missed. */
#include "pack/pack.h"

#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

static bool in_path(const char *name, const char *path)
{
	const char *end;
	char file[512];

	for (; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path,
				     name) < sizeof(file) &&
		    is_program(file))
			return true;
	}
	return false;
}

int pack_missing(const struct pack *p, const char *path, struct arena *a,
		 struct conf_strings *out, struct hcp_err *err)
{
	memset(out, 0, sizeof(*out));
	out->items = arena_array(a, p->requires.count + 1, sizeof(*out->items));
	if (!out->items)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < p->requires.count; i++) {
		const char *name = p->requires.items[i];

		if (name[0] == '/' ? is_program(name) : in_path(name, path))
			continue;
		out->items[out->count] = arena_strdup(a, name);
		if (!out->items[out->count++])
			return hcp_fail_nomem(err);
	}
	return 0;
}
