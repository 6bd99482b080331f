/* SPDX-License-Identifier: MIT */
/* hcp pack new: a folder that loads, lints and runs as it is, to be changed line by line. It is
 * made in the working directory, and never over anything. */
#include "cli/cli.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct part {
	const char *path, *text; /* "@" in the text stands for the pack's id */
	mode_t mode;
	const char *schema; /* what editors are told to judge it by; NULL: nothing */
};

/* What the specs of both kinds say, around the one answer in which they differ. */
#define SPEC_BEGIN                                                                             \
	"local test = require \"hcp.test\"\n"                                                  \
	"\n"                                                                                   \
	"describe(\"greet\", function()\n"                                                     \
	"  before_each(test.reset)\n"                                                          \
	"\n"                                                                                   \
	"  it(\"greets by name\", function()\n"
#define SPEC_END                                                                               \
	"  it(\"needs a name\", function()\n"                                                  \
	"    assert.equal(\"invalid args: name: is required\", test.try(\"greet\").error)\n"   \
	"  end)\n"                                                                             \
	"end)\n"

static const struct part wrap[] = {
    {"pack.yaml",
     "hcp: 1\n"
     "pack_id: @\n"
     "version: 0.1.0\n"
     "summary: What @ is for, in one line\n"
     "wrap:\n"
     "  bin: ./bin/@\n"
     "commands:\n"
     "  greet:\n"
     "    summary: Greet somebody\n"
     "    cli: [@, greet, \"--name={{name}}\"]\n"
     "    effect: read\n"
     "    args:\n"
     "      properties:\n"
     "        name: { type: string, minLength: 1, description: Who is greeted }\n"
     "      required: [name]\n"
     "    examples: [ { name: Ada } ]\n",
     0644, "pack"},
    {"policy.yaml", "hcp: 1\npolicies:\n  greet: { capability: @.greet }\n", 0644,
     "pack-policy"},
    {"bin/@",
     "#!/bin/sh\n"
     "# @ greet --name=NAME --json. An argument is data: it is never part of a command line.\n"
     "printf 'Hello, %s!\\n' \"${2#--name=}\"\n",
     0755, NULL},
    {"spec/greet_spec.lua",
     SPEC_BEGIN
     "    assert.equal(\"Hello, Ada!\\n\", test.exec(\"greet\", { name = \"Ada\" }))\n"
     "  end)\n"
     "\n" SPEC_END,
     0644, NULL},
    {NULL, NULL, 0, NULL},
};

static const struct part composite[] = {
    {"pack.yaml",
     "hcp: 1\n"
     "pack_id: @\n"
     "version: 0.1.0\n"
     "summary: What @ is for, in one line\n"
     "commands:\n"
     "  greet:\n"
     "    summary: Greet somebody\n"
     "    kind: composite\n"
     "    script: verbs/greet.lua\n"
     "    effect: read\n"
     "    args:\n"
     "      properties:\n"
     "        name: { type: string, minLength: 1, description: Who is greeted }\n"
     "      required: [name]\n"
     "    output: { type: object, required: [greeting] }\n"
     "    examples: [ { name: Ada } ]\n",
     0644, "pack"},
    {"policy.yaml", "hcp: 1\npolicies:\n  greet: { capability: @.greet }\n", 0644,
     "pack-policy"},
    {"verbs/greet.lua",
     "-- ctx.exec(\"another command\", { ... }) runs one of this pack through every step.\n"
     "return function(args, ctx)\n"
     "  return { greeting = \"Hello, \" .. args.name .. \"!\" }\n"
     "end\n",
     0644, NULL},
    {"spec/greet_spec.lua",
     SPEC_BEGIN
     "    assert.same({ greeting = \"Hello, Ada!\" }, test.exec(\"greet\", { name = \"Ada\" "
     "}))\n"
     "  end)\n"
     "\n" SPEC_END,
     0644, NULL},
    {NULL, NULL, 0, NULL},
};

/* Where schemas and templates for editors lie: beside the program in a build tree, at the
 * installed distance otherwise; "": nowhere that a comment can name. */
static void find_data(char out[PATH_MAX])
{
	static const char *const places[] = {"", "/" HCP_DATA_FROM_BIN};
	char own[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	out[0] = '\0';
	if (n <= 0)
		return;
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s/schema", own, places[i]);
		if (!realpath(path, out)) {
			out[0] = '\0';
			continue;
		}
		*strrchr(out, '/') = '\0';
		if (strpbrk(out, " \t"))
			out[0] = '\0';
		return;
	}
}

/* What the operator adds for it; printed, since no pack grants itself anything. */
static void print_next(const char *id, bool is_wrap)
{
	fprintf(stderr,
		"%s/ is there. To run it, move it to the root's packs/ and add to "
		"policies/%s.yaml:\n\n"
		"hcp: 1\ngrants:\n  - { principal: \"user:*\", capabilities: [\"%s.*\"] }\n",
		id, id, id);
	if (is_wrap)
		fprintf(stderr, "packs:\n  %s: { bins: [./bin/%s] }\n", id, id);
	fprintf(
	    stderr,
	    "\nThen: hcp pack lint %s; hcp pack test %s; hcp activate %s; hcp exec %s greet -- "
	    "name=Ada\n",
	    id, id, id, id);
}

static int put(int dir, const char *path, const struct buf *text, mode_t mode)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	size_t done = 0;
	ssize_t n = 0;

	while (fd >= 0 && done < text->len &&
	       (n = write(fd, text->data + done, text->len - done)) > 0)
		done += (size_t)n;
	/* the pack must load whatever the umask is: not writable by others */
	if (fd < 0 || n < 0 || fchmod(fd, mode) < 0 || close(fd) < 0)
		return cli_fail(1, "%s: %s", path, strerror(errno));
	return 0;
}

static void fill(struct buf *out, const char *text, const char *id)
{
	for (; *text; text++)
		if (*text == '@')
			buf_add(out, id, strlen(id));
		else
			buf_add(out, text, 1);
}

static int put_part(int dir, const char *data, const struct part *p, const char *id)
{
	AUTO_BUF path = {0}, text = {0};
	char *slash;

	fill(&path, p->path, id);
	if (p->schema && *data)
		buf_printf(&text, "# yaml-language-server: $schema=%s/schema/%s.json\n", data,
			   p->schema);
	fill(&text, p->text, id);
	buf_add(&path, "", 1);
	if (path.failed || text.failed)
		return cli_fail(CLI_RUNTIME, "out of memory");
	slash = strchr(path.data, '/');
	if (slash) {
		*slash = '\0';
		if ((mkdirat(dir, path.data, 0755) < 0 && errno != EEXIST) ||
		    fchmodat(dir, path.data, 0755, 0) < 0)
			return cli_fail(1, "%s: %s", path.data, strerror(errno));
		*slash = '/';
	}
	return put(dir, path.data, &text, p->mode);
}

/* The template for the Lua language server, where it is installed. */
static int put_luarc(int dir, const char *data)
{
	AUTO_BUF text = {0};
	char path[PATH_MAX + 32], room[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/lua/luarc.json", data);
	f = *data ? fopen(path, "re") : NULL;
	if (!f)
		return 0;
	while ((n = fread(room, 1, sizeof(room), f)) > 0)
		buf_add(&text, room, n);
	fclose(f);
	return text.len && !text.failed ? put(dir, ".luarc.json", &text, 0644) : 0;
}

int cli_pack_new(struct cli *c, const char *id)
{
	const struct part *part = c->composite ? composite : wrap;
	char data[PATH_MAX];
	int dir, code = 0;

	if (!name_is_id(id))
		return cli_fail(CLI_USAGE,
				"\"%s\" can't be a pack's id: 1 to 64 of A-Z a-z 0-9 . _ -, a "
				"letter or digit first, no \"..\"",
				id);
	if (mkdir(id, 0755) < 0 || chmod(id, 0755) < 0)
		return cli_fail(1, "%s: %s", id, strerror(errno));
	dir = open(id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return cli_fail(1, "%s: %s", id, strerror(errno));
	find_data(data);
	for (; code == 0 && part->path; part++)
		code = put_part(dir, data, part, id);
	if (code == 0)
		code = put_luarc(dir, data);
	close(dir);
	if (code == 0)
		print_next(id, !c->composite);
	return code;
}
