/* SPDX-License-Identifier: MIT */
/* `require`: modules of the script's own folder, named with dots. A name becomes a path here
 * and nowhere else, and can't spell anything but a file beneath that folder; who gives its text
 * (host.load) follows no link. */
#include "script/modules.h"

#include <string.h>

#define NAME_MAX_LEN 128

static bool is_name(const char *s, size_t len)
{
	bool letter = false;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.') {
			if (!letter)
				return false;
			letter = false;
		} else if ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
			   (s[i] >= '0' && s[i] <= '9') || s[i] == '_' || s[i] == '-') {
			letter = true;
		} else {
			return false;
		}
	}
	return letter && len <= NAME_MAX_LEN;
}

bool l_require_file(lua_State *L, const char *path)
{
	const struct script_host *host = &script_state_of(L)->call->host;
	struct hcp_err err = {0};
	const char *text;
	size_t len = 0;

	text = host->load ? host->load(host->user, path, &len, &err) : NULL;
	if (!text && err.code != HCP_E_NONE)
		luaL_error(L, "%s", err.text);
	if (!text)
		return false;
	script_load(L, path, text, len);
	lua_call(L, 0, 1);
	return true;
}

static const char loading; /* its address stands in for a module that isn't finished */

int l_require(lua_State *L)
{
	size_t len;
	const char *name = luaL_checklstring(L, 1, &len), *path;

	lua_settop(L, 1);
	if (!is_name(name, len))
		return luaL_error(L, "bad module name '%s'", name);
	script_push_loaded(L);
	lua_getfield(L, 2, name);
	if (lua_touserdata(L, 3) == &loading)
		return luaL_error(L, "module '%s' requires itself", name);
	if (!lua_isnil(L, 3) || script_push_library(L, name))
		return 1;
	lua_pushlightuserdata(L, (void *)(uintptr_t)&loading);
	lua_setfield(L, 2, name);
	path = luaL_gsub(L, name, ".", "/");
	if (!l_require_file(L, lua_pushfstring(L, "%s.lua", path)) &&
	    !l_require_file(L, lua_pushfstring(L, "%s/init.lua", path))) {
		lua_pushnil(L);
		lua_setfield(L, 2, name);
		return luaL_error(L, "module '%s' not found: no %s.lua, no %s/init.lua", name,
				  path, path);
	}
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		lua_pushboolean(L, 1);
	}
	lua_pushvalue(L, -1);
	lua_setfield(L, 2, name);
	return 1;
}
