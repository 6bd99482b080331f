/* SPDX-License-Identifier: MIT */
/* consumer ROOT STATE: greets through the pack hello of ROOT and says what came of it. */
#include <hcp.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_options *o = hcp_options_new();
	hcp_runtime *rt = NULL;
	hcp_result *res = NULL;
	hcp_str envelope = hcp_str_from("{\"pack_id\":\"hello\",\"verb_key\":\"greet\"}");
	int code = 1;

	if (argc == 3 && o && hcp_options_root(o, argv[1]) == HCP_OK &&
	    hcp_options_state(o, argv[2]) == HCP_OK && hcp_open(o, &rt, &err) == HCP_OK &&
	    hcp_activate(rt, NULL, "hello", 1, NULL, &err) == HCP_OK &&
	    hcp_exec(rt, NULL, envelope, &res) == HCP_OK) {
		puts(hcp_result_json(res).data);
		code = hcp_result_exit(res);
	} else {
		fprintf(stderr, "%s\n", err.text);
	}
	hcp_result_free(res);
	hcp_close(rt);
	hcp_options_free(o);
	return code;
}
