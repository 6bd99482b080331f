/* SPDX-License-Identifier: MIT */
/* One HTTP request of a script, in locked memory from its parts to its answer: what is sent and
 * what comes back may hold secrets. It hangs on the state, since Lua may leave by a longjmp. */
#ifndef HCP_SCRIPT_L_HTTP_H
#define HCP_SCRIPT_L_HTTP_H

#include "script/state.h"

#include "net/net.h"
#include "secret/redact.h"

#define HTTP_LINES    64
#define HTTP_SENT_MAX (512 * 1024)

struct script_http {
	unsigned char *sent; /* HTTP_SENT_MAX bytes, `used` of them in use */
	size_t used;
	const char *lines[HTTP_LINES];
	struct net_request q;
	struct net_response answer;
	struct redact known; /* handles that went out, and those that came back */
	struct buf text;     /* what the script gets to see */
};

/* A fresh one, instead of the one that was. Raises. */
struct script_http *l_http_open(lua_State *L);
void l_http_free(struct script_state *s);
/* Reads the options at index 1 into x->q. Raises. */
void l_http_request(lua_State *L, struct script_http *x);
/* Sends it; script time stands still. Raises. */
void l_http_send(lua_State *L, struct script_http *x);

/* json_path.c, pure: the string at `path` ("auth.client_token") of a JSON text that json_scan
 * found good, its quotes left out. 0: it is there; 1: it isn't, or is null; -1: it is no
 * string. A name written with escapes is found, too. */
int json_path_string(const char *text, size_t len, const char *path, const char **at,
		     size_t *size);
/* Undoes the escapes of such a string; out holds `size` bytes. -1: half a surrogate pair. */
int json_path_decode(const char *at, size_t size, unsigned char *out, size_t *len);

#endif
