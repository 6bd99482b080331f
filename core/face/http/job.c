/* SPDX-License-Identifier: MIT */
/* A listing asks the auth provider, a script that may take its time: the loop never waits for
 * one. */
#include "face/http/server.h"

#include "base/fd.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct job {
	hcp_runtime *rt;
	hcp_call *call; /* borrowed */
	int done_fd;
	pthread_t thread;
	hcp_status status;
	hcp_result *res;
	hcp_error err;
};

static void *ask(void *arg)
{
	struct job *j = arg;
	uint64_t one = 1;

	j->status = hcp_permitted(j->rt, j->call, &j->res, &j->err);
	if (write(j->done_fd, &one, sizeof(one)) < 0)
		j->status = HCP_ENOMEM; /* never: it has room */
	return NULL;
}

struct job *job_start(hcp_runtime *rt, hcp_call *call)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->rt = rt;
	j->call = call;
	j->err.size = sizeof(j->err);
	j->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (j->done_fd >= 0 && pthread_create(&j->thread, NULL, ask, j) == 0)
		return j;
	fd_close(&j->done_fd);
	free(j);
	return NULL;
}

int job_fd(const struct job *j)
{
	return j->done_fd;
}

static json_t *with_commands(hcp_str text)
{
	json_t *top = json_read(text.data, text.len);
	json_t *packs = json_object_get(top, "packs");

	for (size_t i = json_array_size(packs); i-- > 0;)
		if (json_object_size(json_object_get(json_array_get(packs, i), "commands")) ==
		    0)
			json_array_remove(packs, i);
	return top;
}

json_t *job_finish(struct job *j, hcp_error *err)
{
	json_t *top = NULL;

	pthread_join(j->thread, NULL);
	*err = j->err;
	if (j->status == HCP_OK)
		top = with_commands(hcp_result_json(j->res));
	hcp_result_free(j->res);
	fd_close(&j->done_fd);
	free(j);
	return top;
}
