/* SPDX-License-Identifier: MIT */
/* `host`: what auth providers and mint hooks may ask of the runtime. Nothing here reaches
 * beyond what the operator listed for the script. */
#include "script/l_secret.h"
#include "script/modules.h"
#include "script/value.h"

#include "base/time.h"
#include "secret/secret.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int l_host_secret(lua_State *L)
{
	const struct script_host *host = &script_state_of(L)->call->host;
	const char *name = luaL_checkstring(L, 1);
	struct hcp_err err = {0};
	struct secret **handle = l_secret_reserve(L), *s = NULL;
	int rc;

	script_host_begin(L, 0);
	rc = host->secret(host->user, name, &s, &err);
	if (rc == 0)
		l_secret_keep(L, handle, s);
	script_host_end(L);
	return rc == 0 ? 1 : luaL_error(L, "%s", err.text);
}

int l_host_now(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)time(NULL));
	return 1;
}

int l_host_iso8601(lua_State *L)
{
	lua_Number t = floor(luaL_checknumber(L, 1));
	char text[TIME_TEXT_SIZE];

	if (!(t >= -1e12 && t <= 1e12) || time_format((int64_t)t, text) < 0)
		return luaL_argerror(L, 1, "beyond the years 1 to 9999");
	lua_pushstring(L, text);
	return 1;
}

int l_host_parse_time(lua_State *L)
{
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);
	int64_t us;

	if (time_parse(text, len, &us) < 0)
		return luaL_argerror(L, 1, "not a time of RFC 3339");
	if (us % 1000000 == 0)
		lua_pushinteger(L, us / 1000000);
	else
		lua_pushnumber(L, (lua_Number)us / 1e6);
	return 1;
}

#define RANDOM_MAX 1024

int l_host_random(lua_State *L)
{
	lua_Integer n = luaL_checkinteger(L, 1);
	struct answer out;

	luaL_argcheck(L, n >= 1 && n <= RANDOM_MAX, 1, "from 1 to 1024 bytes");
	l_secret_begin(L, &out, (size_t)n, false);
	randombytes_buf(out.data, (size_t)n);
	return l_secret_end(L, &out, (size_t)n);
}

int l_host_equal(lua_State *L)
{
	struct bytes a = l_secret_take(L, 1), b = l_secret_take(L, 2);

	lua_pushboolean(L, a.len == b.len && sodium_memcmp(a.data, b.data, a.len) == 0);
	return 1;
}

/* ---- passwords ---- */

/* A hash says itself what checking it costs, and nothing can interrupt that. Two passes over
 * 256 MiB, or their like, are the most. */
#define PASSWORD_KIB       262144
#define PASSWORD_KIB_TIMES 524288

static bool is_affordable(const char *hash)
{
	const char *p = strstr(hash, "$m=");
	unsigned long long kib, times;
	char *end;

	if (strncmp(hash, "$argon2i", 8) != 0 || !p)
		return false;
	kib = strtoull(p + 3, &end, 10);
	if (strncmp(end, ",t=", 3) != 0)
		return false;
	times = strtoull(end + 3, &end, 10);
	return *end == ',' && kib <= PASSWORD_KIB && times <= PASSWORD_KIB_TIMES &&
	       kib * times <= PASSWORD_KIB_TIMES;
}

int l_host_verify_password(lua_State *L)
{
	struct bytes hash = l_secret_take(L, 1), text = l_secret_take(L, 2);
	char copy[crypto_pwhash_STRBYTES] = "";
	bool fits = hash.len < sizeof(copy) && !memchr(hash.data, '\0', hash.len);
	bool same;

	if (fits)
		memcpy(copy, hash.data, hash.len);
	luaL_argcheck(L, fits && is_affordable(copy), 1,
		      "not an Argon2 hash, or one that costs too much to check");
	script_count_calls(L, 1);
	same = crypto_pwhash_str_verify(copy, (const char *)text.data, text.len) == 0;
	script_work(L, PASSWORD_KIB_TIMES);
	lua_pushboolean(L, same);
	return 1;
}

void l_host_push(lua_State *L)
{
	const struct script_call *call = script_state_of(L)->call;

	lua_newtable(L);
	script_fill(L, IN_HOST);
	if (!call->host.secret) {
		lua_pushnil(L);
		lua_setfield(L, -2, "secret");
	}
	if (call->config) {
		script_push_json(L, call->config, "host.config");
		lua_setfield(L, -2, "config");
	}
}
