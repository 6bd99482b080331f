/* SPDX-License-Identifier: MIT */
/* Starts a program on a host that lacks something: `without CALL[:ARG:BITS[:VALUE]]=ERROR... --
 * PROGRAM ARGS...` refuses system calls, only where the argument ARG has these BITS, or under
 * them this VALUE. That is how containers and distributions refuse namespaces, and how a kernel
 * without a feature answers. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int error_number(const char *name)
{
	for (int e = 1; e < 256; e++)
		if (strerrorname_np(e) && strcmp(strerrorname_np(e), name) == 0)
			return e;
	return -1;
}

static int refuse(scmp_filter_ctx ctx, char *what)
{
	char *error = strchr(what, '='), *arg, *bits;
	int number = error ? error_number(error + 1) : -1, call;
	unsigned long long mask, value;

	if (number < 0)
		return -1;
	*error = '\0';
	arg = strchr(what, ':');
	if (arg)
		*arg++ = '\0';
	call = seccomp_syscall_resolve_name(what);
	if (call == __NR_SCMP_ERROR)
		return -1;
	if (!arg)
		return seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned)number), call, 0);
	bits = strchr(arg, ':');
	mask = value = bits ? strtoull(bits + 1, &bits, 0) : 0;
	if (bits && *bits == ':')
		value = strtoull(bits + 1, NULL, 0);
	if (!mask)
		return -1;
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned)number), call, 1,
				SCMP_CMP((unsigned)atoi(arg), SCMP_CMP_MASKED_EQ, mask, value));
}

int main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int i = 1;

	for (; ctx && i < argc && strcmp(argv[i], "--") != 0; i++)
		if (refuse(ctx, argv[i]) < 0) {
			fprintf(stderr, "without: bad rule \"%s\"\n", argv[i]);
			return 2;
		}
	if (!ctx || i + 1 >= argc || seccomp_load(ctx) < 0) {
		perror("without");
		return 2;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
