/* SPDX-License-Identifier: MIT */
/* What a host adds to a runtime before it opens: providers and adapters in C, by name. */
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

static hcp_status add(hcp_options *o, enum host_kind kind, const char *name, hcp_host_fn *fn,
		      void *user)
{
	struct host_function *grown;

	if (!o || !fn || !name || !name_is_id(name) || host_function(o, kind, name))
		return HCP_EINVAL;
	grown = reallocarray(o->functions, o->function_count + 1, sizeof(*grown));
	if (!grown)
		return HCP_ENOMEM;
	o->functions = grown;
	grown += o->function_count++;
	*grown = (struct host_function){.kind = kind, .fn = fn, .user = user};
	strcpy(grown->name, name);
	return HCP_OK;
}

hcp_status hcp_options_auth(hcp_options *o, const char *name, hcp_host_fn *fn, void *user)
{
	if (name && strcmp(name, HOST_PROVIDER) == 0)
		return HCP_EINVAL;
	return add(o, HOST_AUTH, name, fn, user);
}

hcp_status hcp_options_adapter(hcp_options *o, const char *kind, hcp_host_fn *fn, void *user)
{
	if (kind && strcmp(kind, "wrap") == 0)
		return HCP_EINVAL;
	return add(o, HOST_ADAPTER, kind, fn, user);
}

const struct host_function *host_function(const hcp_options *o, enum host_kind kind,
					  const char *name)
{
	for (size_t i = 0; i < o->function_count; i++)
		if (o->functions[i].kind == kind && strcmp(o->functions[i].name, name) == 0)
			return &o->functions[i];
	return NULL;
}

int host_functions_copy(hcp_options *to, const hcp_options *from)
{
	if (!from->function_count)
		return 0;
	to->functions = malloc(from->function_count * sizeof(*to->functions));
	if (!to->functions)
		return -1;
	memcpy(to->functions, from->functions, from->function_count * sizeof(*to->functions));
	to->function_count = from->function_count;
	return 0;
}

bool host_brings_provider(const void *options, const char *name)
{
	return strcmp(name, HOST_PROVIDER) == 0 || host_function(options, HOST_AUTH, name);
}
