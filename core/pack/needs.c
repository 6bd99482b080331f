/* SPDX-License-Identifier: MIT */
#include "pack/needs.h"

#include "base/str.h"

#include <string.h>

/* Sentences, one a key, in the order in which they were said. One that is lost would be taken
 * unseen, so then there are none. */
struct sentences {
	json_t *all;
	bool failed;
};
static void say(struct sentences *to, const char *fmt, ...) HCP_PRINTF(2, 3);
static void say(struct sentences *to, const char *fmt, ...)
{
	va_list ap;
	json_t *text;

	va_start(ap, fmt);
	text = json_vsprintf(fmt, ap);
	va_end(ap);
	if (!text || json_object_set_new(to->all, json_string_value(text), json_true()) < 0)
		to->failed = true;
	json_decref(text);
}

static void say_policy(struct sentences *to, const struct pack_command *c)
{
	for (size_t i = 0; c->policy && i < c->policy->capabilities.count; i++)
		say(to, "capability %s", c->policy->capabilities.items[i]);
	if (c->policy && c->policy->land_brain)
		say(to, "%s: lands what it makes in the brain", c->key);
	if (c->policy && !c->policy->confirm && c->effect != PACK_READ)
		say(to, "%s: runs without consent", c->key);
}

static void say_wrap(struct sentences *to, const struct pack_command *c)
{
	const struct pack_wrap *w = &c->wrap;

	say(to, "program %s", w->bin);
	if (w->workspace == PACK_WS_WORKSPACE && w->workspace_name)
		say(to, "%s: works in the folder %s", c->key, w->workspace_name);
	else if (w->workspace == PACK_WS_WORKSPACE)
		say(to, "%s: keeps files", c->key);
}

static void say_command(struct sentences *to, const struct pack_command *c)
{
	static const char *const effects[] = {"destroys", "writes", "reads"};

	say(to, "%s: %s", c->key, effects[c->effect]);
	say_policy(to, c);
	if (strcmp(c->kind, "wrap") == 0)
		say_wrap(to, c);
	else if (strcmp(c->kind, "composite") != 0)
		say(to, "%s: adapter %s", c->key, c->kind);
	if (c->bootstrap)
		say(to, "%s: hands over its program", c->key);
}

/* NULL: out of memory. */
static json_t *needs(const struct pack *p)
{
	struct sentences all = {.all = json_object()}, *to = &all;

	for (size_t i = 0; i < p->requires.count; i++)
		say(to, "program %s", p->requires.items[i]);
	for (size_t i = 0; i < p->uses.count; i++)
		say(to, "command %s of another pack", p->uses.items[i]);
	for (size_t i = 0; p->mint && i < p->mint->env.count; i++)
		say(to, "secret %s", p->mint->env.items[i]);
	for (size_t i = 0; i < p->command_count; i++)
		say_command(to, &p->commands[i]);
	if (!all.failed)
		return all.all;
	json_decref(all.all);
	return NULL;
}

json_t *needs_beyond(const struct pack *p, const struct pack *than)
{
	json_t *all = needs(p), *old = than ? needs(than) : json_object(), *list = json_array();
	bool failed = !all || !old || !list;
	const char *text;
	json_t *one;

	json_object_foreach(all, text, one)
	{
		if (!json_object_get(old, text) &&
		    json_array_append_new(list, json_string(text)) < 0)
			failed = true;
	}
	json_decref(all);
	json_decref(old);
	if (!failed)
		return list;
	json_decref(list);
	return NULL;
}
