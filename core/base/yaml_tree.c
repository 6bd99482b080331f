/* SPDX-License-Identifier: MIT */
/* What a finished tree answers: a key's value, words for messages, the same value as JSON. It
 * never sees YAML text and never changes a node. */
#include "base/yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->count; i++)
		if (!strcmp(map->pairs[i].key->text, key))
			return map->pairs[i].value;
	return NULL;
}

const char *yaml_kind_name(enum yaml_kind kind)
{
	switch (kind) {
	case YAML_NONE:
		return "nothing";
	case YAML_NULL:
		return "null";
	case YAML_BOOL:
		return "a boolean";
	case YAML_INT:
	case YAML_FLOAT:
		return "a number";
	case YAML_STR:
		return "a string";
	case YAML_SEQ:
		return "a list";
	case YAML_MAP:
		return "a mapping";
	}
	return "nothing";
}

void yaml_quote(const char *text, char out[YAML_QUOTE])
{
	static const char more[] = "...\"";
	size_t n = 0;

	out[n++] = '"';
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		/* C1 controls too, U+0080 to U+009F: a terminal may obey them */
		bool c1 = c == 0xc2 && ((unsigned char)text[1] & 0xe0) == 0x80;
		/* an escape or a whole character needs 4 bytes; its rest never splits them, and
		 * a text that is no UTF-8 doesn't run over either */
		size_t room = (c & 0xc0) == 0x80 ? 1 : 4;

		if (n + room + sizeof(more) > YAML_QUOTE) {
			memcpy(out + n, more, sizeof(more));
			return;
		}
		if (c1)
			c = (unsigned char)*++text;
		if (c1 || c < 0x20 || c == 0x7f)
			n += (size_t)snprintf(out + n, 5, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	memcpy(out + n, "\"", 2);
}

static json_t *list_to_json(const struct yaml_node *node, const char *file, struct hcp_err *err)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < node->count; i++) {
		json_t *item = yaml_to_json(node->items[i], file, err);

		if (!item || json_array_append_new(list, item)) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static json_t *map_to_json(const struct yaml_node *node, const char *file, struct hcp_err *err)
{
	json_t *map = json_object();

	for (size_t i = 0; map && i < node->count; i++) {
		json_t *value = yaml_to_json(node->pairs[i].value, file, err);

		if (!value || json_object_set_new(map, node->pairs[i].key->text, value)) {
			json_decref(map);
			map = NULL;
		}
	}
	return map;
}

json_t *yaml_to_json(const struct yaml_node *node, const char *file, struct hcp_err *err)
{
	json_t *j = NULL;

	switch (node->kind) {
	case YAML_NONE:
		hcp_fail_at(err, file, node->line, node->column, "no value");
		return NULL;
	case YAML_NULL:
		return json_null();
	case YAML_BOOL:
		return json_boolean(node->b);
	case YAML_INT:
		j = json_integer(node->i);
		break;
	case YAML_FLOAT:
		if (!isfinite(node->f)) {
			hcp_fail_at(err, file, node->line, node->column,
				    "JSON has no number for %s", node->text);
			return NULL;
		}
		j = json_real(node->f);
		break;
	case YAML_STR:
		j = json_stringn(node->text, node->len);
		break;
	case YAML_SEQ:
		j = list_to_json(node, file, err);
		break;
	case YAML_MAP:
		j = map_to_json(node, file, err);
		break;
	}
	if (!j)
		hcp_fail_nomem(err); /* unless a value inside failed: the first error wins */
	return j;
}
