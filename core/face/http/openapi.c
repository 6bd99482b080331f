/* SPDX-License-Identifier: MIT */
/* What this principal may run, as an OpenAPI document: one envelope a command. Pure. */
#include "face/http/server.h"

#include "base/json.h"

#include <string.h>

/* The schema is a resource of its own, so that "#/$defs/..." within it means its own. */
static json_t *args_schema(const char *pack, const char *verb, const json_t *command)
{
	const json_t *args = json_object_get(command, "args");
	json_t *schema = args ? json_deep_copy(args) : json_pack("{s:s}", "type", "object");
	AUTO_BUF id = {0};

	buf_printf(&id, "urn:hcp:%s:", pack);
	for (; *verb; verb++)
		buf_printf(&id, *verb == ' ' ? "%%20" : "%c", *verb);
	if (id.data)
		json_object_set_new(schema, "$id", json_string(id.data));
	return schema;
}

static json_t *envelope(const char *pack, const char *verb, const json_t *command)
{
	return json_pack("{s:s,s:O?,s:s,s:[s,s],s:{s:{s:s},s:{s:s},s:o}}", "type", "object",
			 "description", json_object_get(command, "summary"), "title", verb,
			 "required", "pack_id", "verb_key", "properties", "pack_id", "const",
			 pack, "verb_key", "const", verb, "args",
			 args_schema(pack, verb, command));
}

static json_t *any_envelope(void)
{
	return json_pack("{s:s,s:[s,s],s:{s:{s:s},s:{s:s},s:{s:s}}}", "type", "object",
			 "required", "pack_id", "verb_key", "properties", "pack_id", "type",
			 "string", "verb_key", "type", "string", "args", "type", "object");
}

static json_t *envelopes(json_t *packs)
{
	json_t *all = json_array(), *pack, *command;
	const char *verb;
	size_t i;

	json_array_foreach(packs, i, pack)
	{
		const char *id = json_string_value(json_object_get(pack, "pack_id"));

		json_object_foreach(json_object_get(pack, "commands"), verb, command)
		{
			json_array_append_new(all, envelope(id, verb, command));
		}
	}
	if (json_array_size(all) > 0)
		return json_pack("{s:o}", "oneOf", all);
	json_decref(all);
	return any_envelope();
}

static json_t *json_content(json_t *schema)
{
	return json_pack("{s:{s:o}}", "application/json", "schema", schema);
}

static json_t *answers(const char *description, json_t *schema)
{
	return json_pack("{s:{s:s,s:o}}", "200", "description", description, "content",
			 json_content(schema));
}

static json_t *result_schema(void)
{
	return json_pack(
	    "{s:s,s:[s,s,s],s:{s:{s:s},s:{s:s},s:{s:s},s:{},s:{s:s},s:{s:s},s:{s:s}}}", "type",
	    "object", "required", "ok", "pack_id", "verb_key", "properties", "ok", "type",
	    "boolean", "pack_id", "type", "string", "verb_key", "type", "string", "result",
	    "error", "type", "string", "stdout", "type", "string", "stderr", "type", "string");
}

static json_t *get(const char *id, const char *description)
{
	return json_pack("{s:{s:s,s:o}}", "get", "operationId", id, "responses",
			 answers(description, json_pack("{s:s}", "type", "object")));
}

static json_t *post(json_t *packs)
{
	return json_pack("{s:{s:s,s:{s:b,s:o},s:o}}", "post", "operationId", "exec",
			 "requestBody", "required", 1, "content",
			 json_content(envelopes(packs)), "responses",
			 answers("The result envelope, for a denial, too", result_schema()));
}

void http_openapi(json_t *packs, struct buf *out)
{
	AUTO_BUF version = {0};
	json_t *top;

	buf_printf(&version, "%d.%d.%d", HCP_VERSION_MAJOR, HCP_VERSION_MINOR,
		   HCP_VERSION_PATCH);
	top = json_pack(
	    "{s:s,s:{s:s,s:s},s:{s:o,s:o,s:o},s:{s:{s:{s:s,s:s}}},s:[{s:[]}]}", "openapi",
	    "3.1.0", "info", "title", "hcp", "version", version.data ? version.data : "",
	    "paths", "/exec", post(packs), "/packs",
	    get("packs", "The packs and commands that the caller may run"), "/healthz",
	    get("healthz", "Whether requests are answered"), "components", "securitySchemes",
	    "bearer", "type", "http", "scheme", "bearer", "security", "bearer");
	if (top)
		json_add_value(out, top);
	out->failed |= !top;
	json_decref(top);
}
