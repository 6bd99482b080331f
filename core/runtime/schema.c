/* SPDX-License-Identifier: MIT */
/* hcp_schema: the formats of the YAML files for editors, from the tables that load them. */
#include "runtime/runtime.h"

#include "base/str.h"
#include "root/settings.h"

static const struct {
	const char *name;
	const struct conf_table *table;
} formats[] = {
    {"pack", &pack_manifest_table},
    {"pack-policy", &pack_policies_table},
    {"policy", &policy_file_table},
    {"settings", &root_settings_table},
};

hcp_status hcp_schema(const char *format, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};

	if (out)
		*out = NULL;
	if (!out || !format)
		return HCP_EINVAL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (str_eq(format, formats[i].name))
			return result_give(conf_schema(formats[i].table), &why, out, err);
	return HCP_EINVAL;
}
