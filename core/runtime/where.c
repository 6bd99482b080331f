/* SPDX-License-Identifier: MIT */
/* Where hcp's own files lie. They are found from the file that holds this code, so that an
 * installed tree can be moved as a whole: beside it in a build tree, at the installed distance
 * otherwise. In libhcp.a that file is any program's, and the place that was configured comes
 * last. Nothing of the environment is asked. */
#include "runtime/runtime.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HCP_INIT_INSTALLED /* the shared library: its own file says enough */
#define HCP_INIT_INSTALLED NULL
#define HCP_NET_INSTALLED  NULL
#define HCP_DATA_INSTALLED NULL
#endif

static int own_folder(char out[PATH_MAX])
{
	Dl_info info;
	char *slash;

	if (!dladdr((const void *)&hcp_version, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, out))
		return -1;
	slash = strrchr(out, '/');
	if (!slash)
		return -1;
	*slash = '\0';
	return 0;
}

static char *first_there(const char *dir, const char *const *names)
{
	char path[PATH_MAX];

	for (; *names; names++) {
		if ((size_t)snprintf(path, sizeof(path), "%s%s%s", **names == '/' ? "" : dir,
				     **names == '/' ? "" : "/", *names) >= sizeof(path))
			continue;
		if (access(path, F_OK) == 0)
			return realpath(path, NULL);
	}
	return NULL;
}

char *where_init(void)
{
	static const char *const names[] = {"hcp-init", HCP_INIT_FROM_LIB, HCP_INIT_INSTALLED,
					    NULL};
	char dir[PATH_MAX];

	return own_folder(dir) < 0 ? NULL : first_there(dir, names);
}

char *where_net(void)
{
	static const char *const names[] = {"hcp-net.so", HCP_NET_FROM_LIB, HCP_NET_INSTALLED,
					    NULL};
	char dir[PATH_MAX];

	return own_folder(dir) < 0 ? NULL : first_there(dir, names);
}

char *where_data(void)
{
	static const char *const names[] = {"hcp-data", HCP_DATA_FROM_LIB, HCP_DATA_INSTALLED,
					    NULL};
	char dir[PATH_MAX];

	return own_folder(dir) < 0 ? NULL : first_there(dir, names);
}
