/* SPDX-License-Identifier: MIT */
/*
 * spec_posix: what specs ask of the system all the time, as a Lua module. Lua's own ways to it
 * start a shell and a program or two each time; under a sanitizer that takes longer than what
 * is tested.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>

#define WORDS_MAX 64

__attribute__((visibility("default"))) int luaopen_spec_posix(lua_State *L);

static int fault(lua_State *L, const char *what, int error)
{
	return luaL_error(L, "%s: %s", what, strerror(error));
}

/* makedirs(path): the folder and those above it, 0755 where they were missing. */
static int makedirs(lua_State *L)
{
	char path[PATH_MAX];
	size_t size;
	const char *whole = luaL_checklstring(L, 1, &size);

	luaL_argcheck(L, size < sizeof(path), 1, "too long");
	for (size_t i = 1; i <= size; i++) {
		if (whole[i] != '/' && whole[i] != '\0')
			continue;
		memcpy(path, whole, i);
		path[i] = '\0';
		if (mkdir(path, 0755) == 0 ? chmod(path, 0755) < 0 : errno != EEXIST)
			return fault(L, path, errno);
	}
	return 0;
}

/* chmod(path, mode): mode as octal digits. */
static int change_mode(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *mode = luaL_checkstring(L, 2);

	return chmod(path, (mode_t)strtoul(mode, NULL, 8)) < 0 ? fault(L, path, errno) : 0;
}

/* mkdtemp() -> a new folder, 0700, in $TMPDIR or /tmp. */
static int make_temporary(lua_State *L)
{
	char path[PATH_MAX];
	const char *folder = getenv("TMPDIR");
	const char *pattern =
	    lua_pushfstring(L, "%s/spec.XXXXXX", folder != NULL ? folder : "/tmp");

	luaL_argcheck(L, strlen(pattern) < sizeof(path), 1, "$TMPDIR is too long");
	if (mkdtemp(strcpy(path, pattern)) == NULL)
		return fault(L, path, errno);
	lua_pushstring(L, path);
	return 1;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* remove(path) -> whether the folder and all beneath it are gone. */
static int remove_tree(lua_State *L)
{
	lua_pushboolean(L, nftw(luaL_checkstring(L, 1), take_away, 16,
				FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0);
	return 1;
}

/* unsetenv(name) */
static int unset_variable(lua_State *L)
{
	return unsetenv(luaL_checkstring(L, 1)) < 0 ? fault(L, "unsetenv", errno) : 0;
}

static void push_file(lua_State *L, int fd)
{
	luaL_Buffer b;
	char chunk[65536];
	ssize_t n;

	luaL_buffinit(L, &b);
	for (off_t at = 0; (n = pread(fd, chunk, sizeof(chunk), at)) > 0; at += n)
		luaL_addlstring(&b, chunk, (size_t)n);
	luaL_pushresult(&b);
}

/* What the program of `words` made of the three files: its status, 128 + n for a signal, or
 * -errno. */
static int spawn_and_wait(char **words, const int files[3])
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int error, status;

	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_adddup2(&actions, files[fd], fd);
	error = posix_spawn(&pid, words[0], &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error != 0)
		return -error;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* run(words, stdin) -> status (128 + n for a signal), stdout, stderr. words[1]: the program's
 * path. */
static int run(lua_State *L)
{
	char *words[WORDS_MAX + 1] = {NULL};
	size_t size;
	const char *input = luaL_checklstring(L, 2, &size);
	lua_Integer count = luaL_len(L, 1);
	int files[3], status = -EIO;

	luaL_argcheck(L, count >= 1 && count <= WORDS_MAX, 1, "1 to 64 words");
	luaL_checkstack(L, WORDS_MAX, NULL);
	for (lua_Integer i = 0; i < count; i++) {
		lua_rawgeti(L, 1, i + 1);
		words[i] = (char *)(uintptr_t)luaL_checkstring(L, -1);
	}
	for (int fd = 0; fd < 3; fd++)
		files[fd] = memfd_create("spec", MFD_CLOEXEC);
	if (pwrite(files[0], input, size, 0) == (ssize_t)size)
		status = spawn_and_wait(words, files);
	lua_pushinteger(L, status);
	push_file(L, files[1]);
	push_file(L, files[2]);
	for (int fd = 0; fd < 3; fd++)
		close(files[fd]);
	return status < 0 ? fault(L, words[0], -status) : 3;
}

int luaopen_spec_posix(lua_State *L)
{
	static const luaL_Reg functions[] = {
	    {"chmod", change_mode},
	    {"makedirs", makedirs},
	    {"mkdtemp", make_temporary},
	    {"remove", remove_tree},
	    {"run", run},
	    {"unsetenv", unset_variable},
	    {NULL, NULL},
	};

	luaL_newlib(L, functions);
	return 1;
}
