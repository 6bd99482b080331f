/* SPDX-License-Identifier: MIT */
/* What scripts may reach, what is kept of it, and the secret that is taken out of an answer. */
#include "net/net.h"
#include "runtime/runtime.h"
#include "script/l_http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *listed[] = {"api.example.com:443", "http://127.0.0.1:8080", "[fd00::1]:443"};
static const struct conf_strings hosts = {3, listed};

static void urls_are_of_listed_hosts_alone(void **state)
{
	static const char *const good[] = {
	    "https://api.example.com",        "https://API.Example.com:443/a?b=c",
	    "http://127.0.0.1:8080/x",        "https://[fd00::1]/",
	    "https://api.example.com?x=/../", "https://api.example.com/%00",
	};
	static const char *const bad[] = {
	    "",
	    "api.example.com",
	    "HTTPS://api.example.com/",
	    "ftp://api.example.com/",
	    "http://api.example.com/",
	    "https://api.example.com:444/",
	    "https://api.example.com:0/",
	    "https://api.example.com:65536/",
	    "https://api.example.com:443443/",
	    "https://api.example.com.evil.example/",
	    "https://api.example.com@evil.example/",
	    "https://evil.example/@api.example.com",
	    "https://api.example.com\\@evil.example/",
	    "https://api.example.com/#x",
	    "https://api.example.com/a b",
	    "https://api.example.com/\n",
	    "https://127.0.0.1:8080/",
	    "https://[fd00::1",
	};
	struct net_target t;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(net_target(&hosts, good[i], &t, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(net_target(&hosts, bad[i], &t, NULL), -1);
	assert_int_equal(net_target(NULL, good[0], &t, NULL), -1);
}

static bool may(const char *address, unsigned port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = in.sin_port};

	if (inet_pton(AF_INET, address, &in.sin_addr) == 1)
		return net_may_connect(&hosts, (const struct sockaddr *)(const void *)&in);
	assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
	return net_may_connect(&hosts, (const struct sockaddr *)(const void *)&in6);
}

static void private_addresses_are_reached_where_they_are_listed(void **state)
{
	static const char *const public[] = {"1.1.1.1",    "9.255.255.255",   "172.15.0.1",
					     "172.32.0.1", "223.255.255.255", "2606:4700::1"};
	static const char *const private[] = {"0.0.0.0",
					      "10.0.0.1",
					      "100.64.0.1",
					      "127.0.0.1",
					      "169.254.169.254",
					      "172.16.0.1",
					      "172.31.255.255",
					      "192.168.1.1",
					      "198.19.0.1",
					      "224.0.0.1",
					      "255.255.255.255",
					      "::",
					      "::1",
					      "::ffff:1.1.1.1",
					      "64:ff9b::1.1.1.1",
					      "fe80::1",
					      "fd00::2",
					      "2002:a00:1::",
					      "2001::1",
					      "ff02::1"};
	const struct sockaddr other = {.sa_family = AF_UNIX};

	(void)state;
	for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++)
		assert_true(may(public[i], 443));
	for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++)
		assert_false(may(private[i], 443));
	assert_true(may("127.0.0.1", 8080));
	assert_true(may("fd00::1", 443));
	assert_false(may("fd00::1", 444));
	assert_false(net_may_connect(&hosts, &other));
}

static void key_sets_are_kept_for_those_who_vouched(void **state)
{
	const struct net_bytes one = {(const unsigned char *)"one", 3},
			       two = {(const unsigned char *)"two", 3}, none = {NULL, 0};
	struct net *n = net_new(NULL);
	json_t *set = json_pack("{s:[]}", "keys"), *found;

	(void)state;
	assert_non_null(n);
	assert_null(net_cache_get(n, "https://a", one, 300));
	net_cache_put(n, "https://a", one, set);
	found = net_cache_get(n, "https://a", one, 300);
	assert_true(json_equal(found, set));
	json_decref(found);
	assert_null(net_cache_get(n, "https://a", two, 300));
	assert_null(net_cache_get(n, "https://a", none, 300));
	assert_null(net_cache_get(n, "https://b", one, 300));
	assert_null(net_cache_get(n, "https://a", one, 0));
	json_decref(set);
	net_free(n);
}

static void another_authority_is_another_configuration(void **state)
{
	char dir[] = "/tmp/hcp-net-XXXXXX", name[] = "ca.pem";
	struct root root = {.fd = -1, .state_fd = -1, .data_fd = -1};
	struct settings set = {0};
	struct stamp before, same, after;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	root.fd = open(dir, O_RDONLY | O_DIRECTORY);
	set.ca = name;
	snapshot_stamp(&root, &set, 0, &before);
	snapshot_stamp(&root, &set, 0, &same);
	assert_memory_equal(before.digest, same.digest, sizeof(same.digest));
	fd = openat(root.fd, name, O_WRONLY | O_CREAT, 0600);
	snapshot_stamp(&root, &set, 0, &after);
	assert_memory_not_equal(before.digest, after.digest, sizeof(after.digest));
	assert_int_equal(write(fd, "x", 1), 1);
	snapshot_stamp(&root, &set, 0, &same);
	assert_memory_not_equal(same.digest, after.digest, sizeof(after.digest));
	close(fd);
	unlinkat(root.fd, name, 0);
	close(root.fd);
	rmdir(dir);
}

static void a_string_is_found_by_its_path(void **state)
{
	static const char text[] = "{\"x\":[{\"auth\":1},\"}\\\"\"], \"auth\" : {\"a\":null,"
				   "\"\\u0074oken\":\"s\\\"\\u00e9\\ud83d\\ude00\",\"n\":1}}";
	unsigned char out[64];
	const char *at;
	size_t size, len;

	(void)state;
	assert_int_equal(json_path_string(text, strlen(text), "auth.token", &at, &size), 0);
	assert_int_equal(json_path_decode(at, size, out, &len), 0);
	assert_int_equal(len, 8);
	assert_memory_equal(out, "s\"\xc3\xa9\xf0\x9f\x98\x80", 8);
	assert_int_equal(json_path_string(text, strlen(text), "auth.n", &at, &size), -1);
	assert_int_equal(json_path_string(text, strlen(text), "auth.a", &at, &size), 1);
	assert_int_equal(json_path_string(text, strlen(text), "auth.b", &at, &size), 1);
	assert_int_equal(json_path_string(text, strlen(text), "x.auth", &at, &size), 1);
	assert_int_equal(json_path_string(text, strlen(text), "token", &at, &size), 1);
	assert_int_equal(json_path_decode("\\ud83d", 6, out, &len), -1);
	assert_int_equal(json_path_decode("\\ude00", 6, out, &len), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(urls_are_of_listed_hosts_alone),
	    cmocka_unit_test(private_addresses_are_reached_where_they_are_listed),
	    cmocka_unit_test(key_sets_are_kept_for_those_who_vouched),
	    cmocka_unit_test(another_authority_is_another_configuration),
	    cmocka_unit_test(a_string_is_found_by_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
