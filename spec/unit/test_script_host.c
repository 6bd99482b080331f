/* SPDX-License-Identifier: MIT */
/* `host`: secrets as handles that no function of the language opens, and what can be done with
 * them. Digests and tags are those of the RFCs. */
#include "script_world.h"

#include "secret/secret.h"

#include <sodium.h>

static int give(void *user, const char *name, struct secret **out, struct hcp_err *err)
{
	(void)user;
	*out = NULL;
	if (strcmp(name, "key") != 0)
		return hcp_fail(err, HCP_E_DENIED, "no secret \"%s\"", name);
	*out = secret_new(6);
	if (!*out)
		return hcp_fail_nomem(err);
	memcpy(secret_bytes(*out), "s3cr3t", 6);
	return 0;
}

static const char *says(const char *body)
{
	static char text[4096], source[2048];
	struct world w;

	snprintf(source, sizeof(source),
		 "return function(request, host)\nlocal key = host.secret('key') %s end", body);
	world_open(&w, SCRIPT_AUTH);
	w.call.name = "auth/x.lua";
	w.call.owner = "provider x";
	w.call.host.secret = give;
	w.call.config = world_json(&w, "{\"realm\":\"staff\",\"n\":7}");
	snprintf(text, sizeof(text), "%s", world_says(&w, source));
	if (strstr(text, "s3cr3t") || strstr(w.log, "s3cr3t"))
		fail_msg("%s\n  shows the secret: %s", body, text);
	world_close(&w);
	return text;
}

#define ID(expression) "return {id = " expression "}"
static void assert_id(const char *body, const char *expected)
{
	char whole[1024];

	snprintf(whole, sizeof(whole), "{\"id\":%s}", expected);
	assert_string_equal(says(body), whole);
}

static void assert_fails(const char *body, const char *expected)
{
	char whole[1024];

	snprintf(whole, sizeof(whole), "! script: %s", expected);
	assert_string_equal(says(body), whole);
}

/* ---- what a handle is closed to ---- */

static void test_a_handle_is_opaque(void **state)
{
	static const char *const rows[][2] = {
	    {"return {id = tostring(key)}", "auth/x.lua:2: a secret has no text"},
	    {"print(key)", "auth/x.lua:2: a secret has no text"},
	    {"hcp.log.warn('is', key)", "auth/x.lua:2: a secret has no text"},
	    {"return {id = ('%s'):format(key)}", "auth/x.lua:2: a secret has no text"},
	    {"return {id = 'x' .. key}", "auth/x.lua:2: attempt to concatenate a secret value "
					 "(local 'key')"},
	    {"return {id = #key}",
	     "auth/x.lua:2: attempt to get length of a secret value (local 'key')"},
	    {"return {id = key.len}",
	     "auth/x.lua:2: attempt to index a secret value (local 'key')"},
	    {"return {id = key[1]}",
	     "auth/x.lua:2: attempt to index a secret value (local 'key')"},
	    {"key.x = 1", "auth/x.lua:2: attempt to index a secret value (local 'key')"},
	    {"return {id = key < key}", "auth/x.lua:2: attempt to compare two secret values"},
	    {"return {id = key < 's3'}", "auth/x.lua:2: attempt to compare secret with string"},
	    {"return {id = key + 1}", "auth/x.lua:2: attempt to perform arithmetic on a secret "
				      "value (local 'key')"},
	    {"return {id = key()}",
	     "auth/x.lua:2: attempt to call a secret value (local 'key')"},
	    {"return {id = key}", "principal.id: a secret is no JSON value"},
	    {"return {id = {a = {key}}}", "principal.id.a[1]: a secret is no JSON value"},
	    {"return {[key] = 1}", "principal: a userdata as a key"},
	    {"return {id = cjson.encode{key}}",
	     "auth/x.lua:2: value[1]: a secret is no JSON value"},
	    {"return {id = table.concat{key}}",
	     "auth/x.lua:2: invalid value (userdata) at index 1 in table for 'concat'"},
	    {"error(key)", "the error is a userdata value, not a message"},
	    {"return nil, key", "auth/x.lua: the reason must be a string, not a userdata"},
	    {"for k in pairs(key) do end",
	     "auth/x.lua:2: bad argument #1 to 'for iterator' (table expected, got secret)"},
	    {"hcp.fail(key)",
	     "auth/x.lua:2: bad argument #1 to 'fail' (string expected, got secret)"},
	    {"return {id = rawlen(key)}", "auth/x.lua:2: bad argument #1 to 'rawlen' (table or "
					  "string expected, got secret)"},
	    {"return {id = string.len(key)}",
	     "auth/x.lua:2: bad argument #1 to 'len' (string expected, got secret)"},
	    {"return {id = string.byte(key)}",
	     "auth/x.lua:2: bad argument #1 to 'byte' (string expected, got secret)"},
	    {"return {id = ('x'):rep(3, key)}",
	     "auth/x.lua:2: bad argument #2 to 'rep' (string expected, got secret)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_fails(rows[i][0], rows[i][1]);
	assert_id(ID("type(key)"), "\"userdata\"");
	assert_id(ID("key == host.secret('key')"), "false");
	assert_id(ID("tonumber(key) == nil"), "true");
	assert_id(ID("('%p'):format(key)"), "\"(null)\"");
}

static void test_secrets_come_by_name(void **state)
{
	struct world w;

	(void)state;
	assert_fails("host.secret('other')", "auth/x.lua:2: no secret \"other\"");
	assert_fails("host.secret(key)",
		     "auth/x.lua:2: bad argument #1 to 'secret' (string expected, got secret)");
	assert_fails("for i = 1, 200 do host.secret('key') end",
		     "auth/x.lua:2: more than 200 host calls");
	assert_fails("for i = 1, 200 do host.hex(key) end",
		     "auth/x.lua:2: more than 200 host calls");
	world_open(&w, SCRIPT_AUTH);
	assert_string_equal(world_says(&w,
				       "return function(_, host) return "
				       "{id = host.secret == nil and host.config == nil} end"),
			    "{\"id\":true}");
	world_close(&w);
}

static void test_config(void **state)
{
	(void)state;
	assert_id(ID("{host.config.realm, host.config.n}"), "[\"staff\",7]");
	assert_id("host.config.realm = 'mine' " ID("host.config.realm"), "\"mine\"");
	assert_id(ID("host.config.realm"), "\"staff\"");
}

/* ---- what is made from it ---- */

static void test_encodings(void **state)
{
	(void)state;
	assert_id(ID("host.base64('')"), "\"\"");
	assert_id(ID("{host.base64('f'), host.base64('fo'), host.base64('foobar')}"),
		  "[\"Zg==\",\"Zm8=\",\"Zm9vYmFy\"]");
	assert_id(ID("{host.base64('\\xfb\\xff'), host.base64url('\\xfb\\xff')}"),
		  "[\"+/8=\",\"-_8\"]");
	assert_id(ID("{host.hex('\\0\\xff'), host.hex('')}"), "[\"00ff\",\"\"]");
	assert_id(ID("host.uri('aZ09-._~ /?&=%\\0\\xc3\\xa9')"),
		  "\"aZ09-._~%20%2F%3F%26%3D%25%00%C3%A9\"");
	assert_id(ID("host.concat('a', 1, 'b', '')"), "\"a1b\"");
	assert_id(ID("host.concat()"), "\"\"");
	assert_fails("host.hex({})",
		     "auth/x.lua:2: bad argument #1 to 'hex' (string expected, got table)");
}

static void test_what_is_made_of_a_secret_is_one(void **state)
{
	static const char *const secret[] = {
	    "host.base64(key)",
	    "host.base64url(key)",
	    "host.hex(key)",
	    "host.uri(key)",
	    "host.sha256(key)",
	    "host.concat('Bearer ', key)",
	    "host.concat(key, 'x')",
	    "host.hmac_sha256('k', key)",
	    "host.hmac_sha256(key, key)",
	    "host.hmac_sha256(key, 'data', 'handle')",
	    "host.hmac_sha256('k', 'data', 'handle')",
	    "host.base64(host.sha256(key))",
	};
	char body[200];

	(void)state;
	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
		snprintf(body, sizeof(body), "return {id = %s}", secret[i]);
		assert_fails(body, "principal.id: a secret is no JSON value");
	}
	/* and it is the right one */
	assert_id(ID("{host.equal(host.base64(key), 'czNjcjN0'), host.equal(host.hex(key), "
		     "'733363723374'), host.equal(host.uri(host.concat(key, '/')), "
		     "host.concat(key, '%2F')), host.equal(host.concat(key, 'x'), key)}"),
		  "[true,true,true,false]");
	assert_id(ID("host.equal(host.sha256(key), host.sha256(host.concat('s3', 'cr3t')))"),
		  "true");
	assert_fails("local s = key for i = 1, 20 do s = host.concat(s, s) end",
		     "auth/x.lua:2: a secret of over 65536 bytes");
}

/* FIPS 180-2 and RFC 4231 */
static void test_hashes(void **state)
{
	(void)state;
	assert_id(ID("host.hex(host.sha256('abc'))"),
		  "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"");
	assert_id(ID("host.hex(host.sha256(''))"),
		  "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"");
	assert_id(ID("host.hex(host.hmac_sha256(('\\x0b'):rep(20), 'Hi There'))"),
		  "\"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7\"");
	assert_id(ID("host.hex(host.hmac_sha256('Jefe', 'what do ya want for nothing?'))"),
		  "\"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\"");
	assert_id(ID("host.hex(host.hmac_sha256(('\\xaa'):rep(131), 'Test Using Larger Than "
		     "Block-Size Key - Hash Key First'))"),
		  "\"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54\"");
	assert_id(ID("#host.hmac_sha256(key, 'data')"), "32");
	assert_id(ID("host.hmac_sha256(key, 'data') == host.hmac_sha256('s3c' .. 'r3t', "
		     "'data')"),
		  "true");
	assert_fails("host.hmac_sha256(key, 'data', 'hex')",
		     "auth/x.lua:2: bad argument #3 to 'hmac_sha256' (invalid option 'hex')");
}

static void test_equal_and_random(void **state)
{
	(void)state;
	assert_id(ID("{host.equal('', ''), host.equal('a', 'a'), host.equal('a', 'b'), "
		     "host.equal('a', 'ab'), host.equal('a\\0b', 'a\\0c')}"),
		  "[true,true,false,false,false]");
	assert_fails("host.equal('a')", "auth/x.lua:2: bad argument #2 to 'equal' (string "
					"expected, got no value)");
	assert_id(ID("{#host.random(1), #host.random(1024), host.random(16) == "
		     "host.random(16)}"),
		  "[1,1024,false]");
	assert_fails("host.random(0)",
		     "auth/x.lua:2: bad argument #1 to 'random' (from 1 to 1024 bytes)");
	assert_fails("host.random(1025)",
		     "auth/x.lua:2: bad argument #1 to 'random' (from 1 to 1024 bytes)");
}

static void test_times(void **state)
{
	(void)state;
	assert_id(
	    ID("{host.iso8601(0), host.iso8601(1.9), host.iso8601(-1)}"),
	    "[\"1970-01-01T00:00:00Z\",\"1970-01-01T00:00:01Z\",\"1969-12-31T23:59:59Z\"]");
	assert_id(ID("{host.parse_time('1970-01-01T00:01:00Z'), "
		     "host.parse_time('1970-01-01T00:00:00.25Z')}"),
		  "[60,0.25]");
	assert_id(ID("host.parse_time(host.iso8601(host.now())) <= host.now()"), "true");
	assert_id(ID("math.type(host.now())"), "\"integer\"");
	assert_id(ID("os.time() - host.now() <= 1"), "true");
	assert_fails("host.iso8601(1e300)",
		     "auth/x.lua:2: bad argument #1 to 'iso8601' (beyond "
		     "the years 1 to 9999)");
	assert_fails("host.iso8601(0/0)", "auth/x.lua:2: bad argument #1 to 'iso8601' (beyond "
					  "the years 1 to 9999)");
	assert_fails("host.parse_time('yesterday')",
		     "auth/x.lua:2: bad argument #1 to 'parse_time' (not a time of RFC 3339)");
}

static void test_passwords(void **state)
{
	static const char *const costly[] = {
	    "'$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHQ$aGFzaA'",
	    "'$argon2id$v=19$m=65536,t=1000,p=1$c2FsdHNhbHQ$aGFzaA'",
	    "'$argon2id$v=19$m=18446744073709551615,t=2,p=1$c2FsdHNhbHQ$aGFzaA'",
	    "'$argon2id$v=19$m=8,p=1$c2FsdHNhbHQ$aGFzaA'",
	    "'$2b$10$abcdefghijklmnopqrstuv'",
	    "'$7$C6..../....x'",
	    "'plain'",
	    "''",
	    "('x'):rep(200)",
	    "'$argon2id\\0$m=8,t=1,'",
	};
	char body[300];

	(void)state;
	for (size_t i = 0; i < sizeof(costly) / sizeof(costly[0]); i++) {
		snprintf(body, sizeof(body), "host.verify_password(%s, 'x')", costly[i]);
		assert_fails(body, "auth/x.lua:2: bad argument #1 to 'verify_password' (not an "
				   "Argon2 hash, or one that costs too much to check)");
	}
}

static void test_right_and_wrong_passwords(void **state)
{
	char hash[crypto_pwhash_STRBYTES], body[600];

	(void)state;
	assert_true(sodium_init() >= 0);
	assert_int_equal(crypto_pwhash_str(hash, "s3cr3t", 6, crypto_pwhash_OPSLIMIT_MIN,
					   crypto_pwhash_MEMLIMIT_MIN),
			 0);
	snprintf(body, sizeof(body),
		 "return {id = {host.verify_password('%s', key), host.verify_password('%s', "
		 "'s3' .. 'cr3t'), host.verify_password('%s', 's3cr3T'), "
		 "host.verify_password('%s', '')}}",
		 hash, hash, hash, hash);
	assert_id(body, "[true,true,false,false]");
	hash[strlen(hash) - 1] ^= 1;
	snprintf(body, sizeof(body), "return {id = host.verify_password('%s', key)}", hash);
	assert_id(body, "false");
}

/* A verb and a guard are given nothing of it; an adapter has the encodings. */
static void test_other_roles(void **state)
{
	struct world w;

	(void)state;
	assert_verb("return function(_, ctx) return {ctx.hex == nil, ctx.secret == nil} end",
		    "[true,true]");
	world_open(&w, SCRIPT_GUARD);
	world_run(&w, "return function(...) return select('#', ...) == 1 end");
	assert_int_equal(w.result.answer, SCRIPT_ANSWER_TRUE);
	world_close(&w);
	world_open(&w, SCRIPT_ADAPTER);
	w.call.export = "run";
	assert_string_equal(
	    world_says(&w, "return {run = function(_, ctx) return {ctx.hex('a'), "
			   "ctx.base64('a'), ctx.base64url('a'), ctx.uri(' '), "
			   "ctx.concat('a', 'b'), ctx.secret == nil, ctx.sha256 == nil} end}"),
	    "[\"61\",\"YQ==\",\"YQ\",\"%20\",\"ab\",true,true]");
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_handle_is_opaque),
	    cmocka_unit_test(test_secrets_come_by_name),
	    cmocka_unit_test(test_config),
	    cmocka_unit_test(test_encodings),
	    cmocka_unit_test(test_what_is_made_of_a_secret_is_one),
	    cmocka_unit_test(test_hashes),
	    cmocka_unit_test(test_equal_and_random),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_passwords),
	    cmocka_unit_test(test_right_and_wrong_passwords),
	    cmocka_unit_test(test_other_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
