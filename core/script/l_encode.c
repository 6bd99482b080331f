/* SPDX-License-Identifier: MIT */
/* Encodings, hashes and joining for who works with secrets. What a secret goes into is a
 * secret, with one exception: the tag of an HMAC whose key alone is secret, which is made to be
 * shown. */
#include "script/l_secret.h"
#include "script/modules.h"

#include <sodium.h>
#include <string.h>

static int base64(lua_State *L, int variant)
{
	struct bytes in = l_secret_take(L, 1);
	size_t size = sodium_base64_encoded_len(in.len, variant); /* with a NUL */
	struct answer out;

	l_secret_begin(L, &out, size, in.secret);
	sodium_bin2base64((char *)out.data, size, in.data, in.len, variant);
	return l_secret_end(L, &out, size - 1);
}

int l_host_base64(lua_State *L)
{
	return base64(L, sodium_base64_VARIANT_ORIGINAL);
}

int l_host_base64url(lua_State *L)
{
	return base64(L, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

int l_host_hex(lua_State *L)
{
	struct bytes in = l_secret_take(L, 1);
	size_t size = in.len * 2 + 1;
	struct answer out;

	l_secret_begin(L, &out, size, in.secret);
	sodium_bin2hex((char *)out.data, size, in.data, in.len);
	return l_secret_end(L, &out, size - 1);
}

/* RFC 3986, 2.3 */
static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~", c));
}

static size_t percent(const struct bytes *in, unsigned char *out)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned char *p = out;

	for (size_t i = 0; i < in->len; i++) {
		if (is_unreserved(in->data[i])) {
			*p++ = in->data[i];
			continue;
		}
		*p++ = '%';
		*p++ = (unsigned char)digits[in->data[i] >> 4];
		*p++ = (unsigned char)digits[in->data[i] & 15];
	}
	return (size_t)(p - out);
}

int l_host_uri(lua_State *L)
{
	struct bytes in = l_secret_take(L, 1);
	struct answer out;

	l_secret_begin(L, &out, in.len * 3, in.secret);
	return l_secret_end(L, &out, percent(&in, out.data));
}

int l_host_sha256(lua_State *L)
{
	struct bytes in = l_secret_take(L, 1);
	struct answer out;

	l_secret_begin(L, &out, crypto_hash_sha256_BYTES, in.secret);
	crypto_hash_sha256(out.data, in.data, in.len);
	return l_secret_end(L, &out, crypto_hash_sha256_BYTES);
}

static void hmac(const struct bytes *key, const struct bytes *data, unsigned char *out)
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key->data, key->len);
	crypto_auth_hmacsha256_update(&state, data->data, data->len);
	crypto_auth_hmacsha256_final(&state, out);
	sodium_memzero(&state, sizeof(state));
}

/* (key, data [, "handle"]) */
int l_host_hmac_sha256(lua_State *L)
{
	static const char *const kinds[] = {"string", "handle", NULL};
	struct bytes key = l_secret_take(L, 1), data = l_secret_take(L, 2);
	bool secret = luaL_checkoption(L, 3, "string", kinds) == 1 || data.secret;
	struct answer out;

	l_secret_begin(L, &out, crypto_auth_hmacsha256_BYTES, secret);
	hmac(&key, &data, out.data);
	return l_secret_end(L, &out, crypto_auth_hmacsha256_BYTES);
}

int l_host_concat(lua_State *L)
{
	int count = lua_gettop(L);
	struct answer out;
	struct bytes part;
	size_t size = 0;
	bool secret = false;

	for (int i = 1; i <= count; i++) {
		part = l_secret_take(L, i);
		size += part.len;
		secret = secret || part.secret;
	}
	l_secret_begin(L, &out, size, secret);
	size = 0;
	for (int i = 1; i <= count; i++) {
		part = l_secret_take(L, i);
		if (part.len)
			memcpy(out.data + size, part.data, part.len);
		size += part.len;
	}
	return l_secret_end(L, &out, size);
}
