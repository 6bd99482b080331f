/* SPDX-License-Identifier: MIT */
/* A host that brings a provider and an adapter: `extend ROOT STATE WHAT [PRINCIPAL]` runs the
 * command WHAT of the pack "own" and prints its envelope. The provider "corp" takes the token
 * for the name; the adapter "echo" does what its command says. */
#include "hcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hcp_str text(const char *s)
{
	return hcp_str_from(s);
}

static void corp(void *user, hcp_ask *ask)
{
	char name[64] = "", answer[256];
	const char *token = strstr(hcp_ask_request(ask).data, "\"token\":\"");

	++*(int *)user;
	if (!token)
		hcp_ask_refuse(ask, text("who are you?"));
	else if (sscanf(token, "\"token\":\"%63[^\"]", name) != 1)
		hcp_ask_refuse(ask, text(""));
	else if (strcmp(name, "malformed") == 0)
		hcp_ask_answer(ask, text("{\"id\":"));
	else if (strcmp(name, "a-number") == 0)
		hcp_ask_answer(ask, text("7"));
	else if (strcmp(name, "unknown-field") == 0)
		hcp_ask_answer(ask, text("{\"id\":\"x\",\"admin\":true}"));
	else if (strcmp(name, "too-late") == 0) {
		hcp_ask_refuse(ask, text("no"));
		hcp_ask_answer(ask, text("{\"id\":\"admin\"}"));
	} else if (strcmp(name, "says-nothing") != 0) {
		snprintf(answer, sizeof(answer), "{\"id\":\"corp-%zu\",\"roles\":[\"staff\"]}",
			 strlen(name));
		hcp_ask_answer(ask, text(answer));
	}
}

/* The answer is whatever the command answered that it asked for. */
static void relay(hcp_ask *ask, const char *verb)
{
	hcp_result *res = NULL;

	if (hcp_ask_exec(ask, NULL, verb, text(""), &res) != HCP_OK)
		hcp_ask_refuse(ask, text("hcp_ask_exec"));
	else
		hcp_ask_answer(ask, hcp_result_json(res));
	hcp_result_free(res);
}

static void echo(void *user, hcp_ask *ask)
{
	hcp_str request = hcp_ask_request(ask);
	hcp_str key = hcp_ask_env(ask, "OWN_KEY");
	char answer[256];

	++*(int *)user;
	if (strstr(request.data, "\"verb_key\":\"whole\"")) {
		hcp_ask_answer(ask, request);
	} else if (strstr(request.data, "\"verb_key\":\"key\"")) {
		snprintf(answer, sizeof(answer), "{\"length\":%zu,\"key\":\"%s\"}", key.len,
			 key.data ? key.data : "");
		hcp_ask_answer(ask, text(answer));
	} else if (strstr(request.data, "\"verb_key\":\"relay\"")) {
		relay(ask, "whole");
	} else if (strstr(request.data, "\"verb_key\":\"beyond\"")) {
		relay(ask, "denied");
	} else if (strstr(request.data, "\"verb_key\":\"slow\"")) {
		while (hcp_ask_left_ms(ask) > 0)
			usleep(10000);
		usleep(10000); /* what is left may be a part of a millisecond */
		hcp_ask_answer(ask, text("1"));
	} else if (strstr(request.data, "\"verb_key\":\"refused\"")) {
		hcp_ask_refuse(ask, text("not today"));
	} else if (strstr(request.data, "\"verb_key\":\"broken\"")) {
		hcp_ask_answer(ask, text("{"));
	}
}

int main(int argc, char **argv)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_options *o = hcp_options_new();
	hcp_runtime *rt = NULL;
	hcp_result *res = NULL;
	hcp_call *call;
	char envelope[256];
	int asked = 0, done = 0;
	const char *token = getenv("EXTEND_TOKEN");

	if (argc < 4 || hcp_options_root(o, argv[1]) || hcp_options_state(o, argv[2]) ||
	    hcp_options_auth(o, "corp", corp, &asked) ||
	    hcp_options_adapter(o, "echo", echo, &done) ||
	    hcp_options_auth(o, "corp", corp, NULL) != HCP_EINVAL ||
	    hcp_options_auth(o, "host", corp, NULL) != HCP_EINVAL ||
	    hcp_options_adapter(o, "wrap", echo, NULL) != HCP_EINVAL ||
	    hcp_open(o, &rt, &err) || !(call = hcp_call_new(rt))) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	hcp_options_free(o);
	hcp_activate(rt, NULL, "own", 1, NULL, &err);
	snprintf(envelope, sizeof(envelope), "{\"pack_id\":\"own\",\"verb_key\":\"%s\"}",
		 argv[3]);
	if ((token && hcp_call_token(call, text(token))) ||
	    (argc == 5 && hcp_call_principal(call, argv[4])) ||
	    hcp_exec(rt, call, text(envelope), &res))
		return 1;
	printf("%s\n%d %d\n", hcp_result_json(res).data, asked, done);
	hcp_result_free(res);
	hcp_call_free(call);
	hcp_close(rt);
	return 0;
}
