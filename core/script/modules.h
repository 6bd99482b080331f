/* SPDX-License-Identifier: MIT */
/* The functions that scripts get from hcp itself, one l_<module>.c a module. Each checks its
 * arguments, lets a function work that knows no lua_State where there is work, and pushes. What
 * a role gets of them stands in the table of state.c and nowhere else. */
#ifndef HCP_SCRIPT_MODULES_H
#define HCP_SCRIPT_MODULES_H

#include "script/state.h"

/* l_base.c */
int l_tostring(lua_State *L);
int l_pcall(lua_State *L);
int l_xpcall(lua_State *L);
/* Charges for the strings among the arguments; raises where they are longer together than the
 * memory limit. */
void l_charge_arguments(lua_State *L);
int l_charged(lua_State *L); /* upvalue: the stock function that then does the work */
/* The value at `index` as text without addresses, pushed. */
const char *l_text(lua_State *L, int index, size_t *len);

/* l_require.c */
int l_require(lua_State *L);
/* Loads and runs the file `path` of the script's own folder, pushing what it returns; false
 * where there is none. */
bool l_require_file(lua_State *L, const char *path);

/* l_string.c */
int l_string_find(lua_State *L);
int l_string_match(lua_State *L);
int l_string_gmatch(lua_State *L);
int l_string_gsub(lua_State *L);
int l_string_rep(lua_State *L);
int l_string_format(lua_State *L); /* upvalue: the stock function */

/* l_table.c */
int l_table_insert(lua_State *L);
int l_table_remove(lua_State *L);
int l_table_move(lua_State *L);
int l_table_sort(lua_State *L);

/* l_os.c */
int l_os_clock(lua_State *L);
int l_os_date(lua_State *L); /* upvalue: the stock function */

/* l_hcp.c */
int l_print(lua_State *L);
int l_hcp_array(lua_State *L);
int l_hcp_object(lua_State *L);
int l_hcp_fail(lua_State *L);
int l_hcp_debug(lua_State *L);
int l_hcp_info(lua_State *L);
int l_hcp_warn(lua_State *L);
/* Sends the text on the top to the operator's log, as far as the log limit lets it. */
void script_log(lua_State *L, int level);

/* l_json.c */
int l_json_encode(lua_State *L);
int l_json_decode(lua_State *L);

/* l_ctx.c */
int l_ctx_exec(lua_State *L);
int l_ctx_try(lua_State *L);
int l_ctx_exec_all(lua_State *L);
int l_ctx_script(lua_State *L);
void l_ctx_push(lua_State *L); /* the `ctx` of the call */
void l_ctx_batch_free(struct script_state *s);

/* l_mint.c */
/* Replaces what a mint hook's file gave by the function to call; raises where it is none. */
void l_mint_open(lua_State *L, bool revoke);
/* Gives the table on the top its member `env`: handles, from the call. */
void l_mint_push_env(lua_State *L);
/* Moves `env` of the binding on the top into the answer, or raises. */
void l_mint_take_env(lua_State *L);

/* l_encode.c: strings or handles in, the same out */
int l_host_base64(lua_State *L);
int l_host_base64url(lua_State *L);
int l_host_hex(lua_State *L);
int l_host_uri(lua_State *L);
int l_host_sha256(lua_State *L);
int l_host_hmac_sha256(lua_State *L);
int l_host_concat(lua_State *L);

/* l_http.c */
int l_host_http(lua_State *L);

/* l_jwt.c */
int l_host_jwks(lua_State *L);
int l_host_sign(lua_State *L);
int l_host_sign_jwt(lua_State *L);
int l_host_verify_jwt(lua_State *L);

/* l_host.c */
int l_host_secret(lua_State *L);
int l_host_now(lua_State *L);
int l_host_iso8601(lua_State *L);
int l_host_parse_time(lua_State *L);
int l_host_random(lua_State *L);
int l_host_equal(lua_State *L);
int l_host_verify_password(lua_State *L);
void l_host_push(lua_State *L); /* the `host` of the call */

#endif
