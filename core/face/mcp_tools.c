/* SPDX-License-Identifier: MIT */
/* Tools: the commands that hcp_permitted names, as a client wants them described. A name may be
 * cut or stand for two commands, so a table leads back; a name is never taken apart. */
#include "face/mcp_server.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define SUFFIX_BYTES   9 /* "_" and 8 digits */

static void plain_name(const char *pack, const char *verb, struct buf *out)
{
	buf_printf(out, "%s.", pack);
	for (; *verb; verb++)
		buf_putc(out, *verb == ' ' ? '_' : *verb);
}

static void add_suffix(const char *pack, const char *verb, struct buf *name)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	AUTO_BUF both = {0};

	buf_add(&both, pack, strlen(pack) + 1);
	buf_puts(&both, verb);
	crypto_hash_sha256(hash, (const unsigned char *)both.data, both.len);
	if (name->len > NAME_MAX_BYTES - SUFFIX_BYTES)
		name->len = NAME_MAX_BYTES - SUFFIX_BYTES;
	buf_printf(name, "_%02x%02x%02x%02x", hash[0], hash[1], hash[2], hash[3]);
	name->failed |= both.failed;
}

typedef void command_fn(void *user, const char *pack, const char *verb, json_t *command);

static void each_command(json_t *packs, command_fn *fn, void *user)
{
	json_t *pack, *command;
	const char *key;
	size_t i;

	json_array_foreach(packs, i, pack)
	{
		json_object_foreach(json_object_get(pack, "commands"), key, command)
		{
			fn(user, json_string_value(json_object_get(pack, "pack_id")), key,
			   command);
		}
	}
}

static void count_name(void *user, const char *pack, const char *verb, json_t *command)
{
	AUTO_BUF name = {0};
	json_t *counts = user;

	(void)command;
	plain_name(pack, verb, &name);
	if (!name.failed)
		json_object_set_new(
		    counts, name.data,
		    json_integer(json_integer_value(json_object_get(counts, name.data)) + 1));
}

struct list {
	json_t *counts, *table;
	struct buf *out;
	bool first;
};

static void name_of(const struct list *l, const char *pack, const char *verb, struct buf *name)
{
	plain_name(pack, verb, name);
	if (!name->failed && (name->len > NAME_MAX_BYTES ||
			      json_integer_value(json_object_get(l->counts, name->data)) > 1))
		add_suffix(pack, verb, name);
}

/* Without a schema any arguments are taken. Consent is offered where an argument can give it;
 * it is not required: to leave it out is to be told that it is missing. */
static json_t *input_schema(json_t *command)
{
	json_t *args = json_object_get(command, "args"), *properties;
	json_t *schema = args ? json_deep_copy(args) : json_pack("{s:s}", "type", "object");

	if (!json_is_true(json_object_get(command, "confirm")))
		return schema;
	properties = json_object_get(schema, "properties");
	if (!properties) {
		properties = json_object();
		json_object_set_new(schema, "properties", properties);
	}
	json_object_set_new(properties, "confirm",
			    json_pack("{s:s,s:s}", "type", "boolean", "description",
				      "Consent: true, once the user has agreed to exactly "
				      "this call. Without it the call is refused."));
	return schema;
}

/* Clients assume the worst of a hint that is missing, and some the best: all four, always. */
static json_t *hints(const char *effect, bool person)
{
	bool reads = strcmp(effect, "read") == 0 && !person;

	return json_pack("{s:b,s:b,s:b,s:b}", "readOnlyHint", reads, "destructiveHint",
			 !reads && strcmp(effect, "write") != 0, "idempotentHint", reads,
			 "openWorldHint", 1);
}

static const char *text_of(const json_t *command, const char *key)
{
	return json_string_value(json_object_get(command, key));
}

static void add_tool(void *user, const char *pack, const char *verb, json_t *command)
{
	struct list *l = user;
	const char *description = text_of(command, "description");
	json_t *output = json_object_get(command, "output"), *tool;
	const char *type = text_of(output, "type");
	AUTO_BUF name = {0};

	name_of(l, pack, verb, &name);
	if (name.failed) {
		l->out->failed = true;
		return;
	}
	tool = json_pack("{s:s,s:s,s:s,s:o,s:o}", "name", name.data, "title",
			 text_of(command, "summary"), "description",
			 description ? description : text_of(command, "summary"), "inputSchema",
			 input_schema(command), "annotations",
			 hints(text_of(command, "effect"),
			       json_is_string(json_object_get(command, "confirm"))));
	/* the older revision knows objects alone */
	if (type && strcmp(type, "object") == 0)
		json_object_set(tool, "outputSchema", output);
	json_object_set_new(l->table, name.data, json_pack("[s,s]", pack, verb));
	if (!l->first)
		buf_putc(l->out, ',');
	l->first = false;
	if (tool)
		json_add_value(l->out, tool);
	l->out->failed |= !tool;
	json_decref(tool);
}

/* A name that a client was told goes on meaning its command: one that was revoked since then is
 * the pipeline's to refuse, with its own words. */
static void keep_table(struct mcp *m, json_t *table)
{
	pthread_mutex_lock(&m->lock);
	if (m->table && json_object_update_missing(table, m->table) < 0) {
		json_decref(
		    table); /* out of memory: what is new is unknown until the next list */
		table = json_incref(m->table);
	}
	json_decref(m->table);
	m->table = table;
	pthread_mutex_unlock(&m->lock);
}

const char *mcp_tools(struct mcp *m, hcp_call *c, struct buf *out, hcp_error *err)
{
	struct list l = {
	    .counts = json_object(), .table = json_object(), .out = out, .first = true};
	hcp_result *res = NULL;
	hcp_status status = hcp_permitted(m->rt, c, &res, err);
	hcp_str text = hcp_result_json(res);
	json_t *top = status == HCP_OK ? json_read(text.data, text.len) : NULL;

	hcp_result_free(res);
	if (top) {
		each_command(json_object_get(top, "packs"), count_name, l.counts);
		buf_puts(out, "\"tools\":[");
		each_command(json_object_get(top, "packs"), add_tool, &l);
		buf_puts(out, "]");
	}
	json_decref(l.counts);
	if (top && !out->failed)
		keep_table(m, l.table);
	else
		json_decref(l.table);
	json_decref(top);
	if (top)
		return out->failed ? "out of memory" : NULL;
	return err->text[0] ? err->text : hcp_status_text(status);
}

bool mcp_find(struct mcp *m, const char *name, json_t **pack, json_t **verb)
{
	json_t *entry;

	pthread_mutex_lock(&m->lock);
	entry = json_object_get(m->table, name);
	*pack = json_incref(json_array_get(entry, 0));
	*verb = json_incref(json_array_get(entry, 1));
	pthread_mutex_unlock(&m->lock);
	return entry != NULL;
}
