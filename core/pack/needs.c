/* SPDX-License-Identifier: MIT */
#include "pack/needs.h"

#include "base/str.h"

#include <string.h>

/* Sentences, one a key, in the order in which they were said. */
static void say(json_t *all, const char *fmt, ...) HCP_PRINTF(2, 3);
static void say(json_t *all, const char *fmt, ...)
{
	va_list ap;
	json_t *text;

	va_start(ap, fmt);
	text = json_vsprintf(fmt, ap);
	va_end(ap);
	if (text)
		json_object_set_new(all, json_string_value(text), json_true());
	json_decref(text);
}

static void say_policy(json_t *all, const struct pack_command *c)
{
	for (size_t i = 0; c->policy && i < c->policy->capabilities.count; i++)
		say(all, "capability %s", c->policy->capabilities.items[i]);
	if (c->policy && c->policy->land_brain)
		say(all, "%s: lands what it makes in the brain", c->key);
	if (c->policy && !c->policy->confirm && c->effect != PACK_READ)
		say(all, "%s: runs without consent", c->key);
}

static void say_wrap(json_t *all, const struct pack_command *c)
{
	const struct pack_wrap *w = &c->wrap;

	say(all, "program %s", w->bin);
	if (w->workspace == PACK_WS_WORKSPACE && w->workspace_name)
		say(all, "%s: works in the folder %s", c->key, w->workspace_name);
	else if (w->workspace == PACK_WS_WORKSPACE)
		say(all, "%s: keeps files", c->key);
}

static void say_command(json_t *all, const struct pack_command *c)
{
	static const char *const effects[] = {"destroys", "writes", "reads"};

	say(all, "%s: %s", c->key, effects[c->effect]);
	say_policy(all, c);
	if (strcmp(c->kind, "wrap") == 0)
		say_wrap(all, c);
	else if (strcmp(c->kind, "composite") != 0)
		say(all, "%s: adapter %s", c->key, c->kind);
	if (c->bootstrap)
		say(all, "%s: hands over its program", c->key);
}

static json_t *needs(const struct pack *p)
{
	json_t *all = json_object();

	for (size_t i = 0; i < p->requires.count; i++)
		say(all, "program %s", p->requires.items[i]);
	for (size_t i = 0; i < p->uses.count; i++)
		say(all, "command %s of another pack", p->uses.items[i]);
	for (size_t i = 0; p->mint && i < p->mint->env.count; i++)
		say(all, "secret %s", p->mint->env.items[i]);
	for (size_t i = 0; i < p->command_count; i++)
		say_command(all, &p->commands[i]);
	return all;
}

json_t *needs_beyond(const struct pack *p, const struct pack *than)
{
	json_t *all = needs(p), *old = than ? needs(than) : json_object(), *list = json_array();
	const char *text;
	json_t *one;

	json_object_foreach(all, text, one) if (!json_object_get(old, text))
	    json_array_append_new(list, json_string(text));
	json_decref(all);
	json_decref(old);
	return list;
}
