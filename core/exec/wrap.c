/* SPDX-License-Identifier: MIT */
/* The wrap adapter: from a rendered argv to a program in its sandbox. It gathers what
 * box_plan_build needs and holds the jail's lock around the run; it starts nothing itself. */
#include "exec/wrap.h"

#include "exec/explain.h"

#include "base/fd.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Arguments are refused as in step 6, also where only now, or only by the kernel, it is known.
 */
static int exit_of(const struct hcp_err *err)
{
	if (strcmp(err->text, "exit 126") == 0)
		return 126;
	return str_starts(err->text, "invalid args: ") ? EXIT_DENIED : EXIT_ADAPTER;
}

static void job_free(struct job *j)
{
	box_bin_close(&j->bin);
	fd_close(&j->jail_fd);
	wrap_scratch_close(j);
	buf_free(&j->input);
}

static int open_bin(struct job *j)
{
	struct run *r = j->r;
	struct hcp_err err = {0};
	int code = EXIT_NO_BIN;

	if (box_bin_open(j->wrap->bin, r->granted, r->pack->fd, r->pack->path, &r->arena,
			 &j->bin, &code, &err) < 0)
		return run_refuse_err(r, code, "", &err);
	r->argv[0] =
	    arena_strdup(&r->arena, strchr(j->wrap->bin, '/') ? j->bin.inside : j->wrap->bin);
	return r->argv[0] ? 0 : run_refuse_text(r, EXIT_RUNTIME, NULL);
}

/* A link that leads out of the jail is refused before the run. Inside the sandbox such a link
 * finds nothing of the host anyway; this is for the message, and for folders that other
 * programs use. */
static int check_links(struct job *j, const struct conf_strings *paths)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
	long fd;

	for (size_t i = 0; j->jail_fd >= 0 && i < paths->count; i++) {
		fd = syscall(SYS_openat2, j->jail_fd, paths->items[i], &how, sizeof(how));
		if (fd >= 0)
			close((int)fd);
		else if (errno == EXDEV || errno == ELOOP)
			return run_refuse(j->r, EXIT_ADAPTER,
					  "sandbox: path escapes workspace");
	}
	return 0;
}

static int rewrite_files(struct job *j)
{
	struct box_view view;
	struct conf_strings paths = {0};
	struct hcp_err err = {0};
	struct argv_files files = {.file_flags = &j->wrap->file_flags};

	box_view(&j->spec, &view);
	files.has_jail = j->spec.jail != BOX_JAIL_NONE;
	files.jail_inside = view.workspace;
	if (argv_rewrite_files(j->r->argv, j->r->argc, &files, &j->r->arena, &paths, &err) < 0)
		return run_refuse_err(j->r, exit_of(&err), "", &err);
	return check_links(j, &paths);
}

static int gather_input(struct job *j)
{
	struct run *r = j->r;
	struct hcp_err err = {0};
	const char *text;

	switch (j->wrap->stdin_kind) {
	case PACK_STDIN_NONE:
		return 0;
	case PACK_STDIN_JSON:
		json_add_value(&j->input, r->args);
		break;
	case PACK_STDIN_ARG:
		if (argv_string(json_object_get(r->args, j->wrap->stdin_arg),
				j->wrap->stdin_arg, &r->arena, &text, &err) < 0)
			return run_refuse_err(r, exit_of(&err), "", &err);
		buf_puts(&j->input, text);
		break;
	}
	if (j->input.failed)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	j->spec.stdin_data = j->input.data ? j->input.data : "";
	j->spec.stdin_len = j->input.len;
	return 0;
}

static int gather_files(struct job *j)
{
	struct run *r = j->r;
	const struct conf_strings *names = &j->wrap->files;
	const struct binding *b =
	    r->pack->mint && r->pack->mint->deliver_file ? r->binding : NULL;
	struct box_file *files =
	    arena_array(&r->arena, names->count + (b ? b->count : 0) + 1, sizeof(*files));
	struct hcp_err err = {0};

	if (!files)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	for (size_t i = 0; i < names->count; i++) {
		const json_t *value = json_object_get(r->args, names->items[i]);
		struct box_file *f = &files[j->spec.file_count];

		if (!value || json_is_null(value))
			continue;
		f->name = names->items[i];
		if (argv_string(value, f->name, &r->arena, &f->data, &err) < 0)
			return run_refuse_err(r, exit_of(&err), "", &err);
		f->len = strlen(f->data);
		j->spec.file_count++;
	}
	for (size_t i = 0; b && i < b->count; i++)
		files[j->spec.file_count++] =
		    (struct box_file){b->env[i].name, (char *)secret_bytes(b->env[i].value),
				      secret_len(b->env[i].value)};
	j->spec.files = files;
	return 0;
}

static int fill_spec(struct job *j)
{
	struct run *r = j->r;
	struct box_view view;

	j->spec.bin = &j->bin;
	j->spec.argv = r->argv;
	box_view(&j->spec, &view);
	j->spec.envp = wrap_environment(r, &view);
	return j->spec.envp ? 0 : run_refuse_text(r, EXIT_RUNTIME, NULL);
}

static void tell_denial(void *user, const char *line, size_t len)
{
	const struct run *r = user;
	AUTO_BUF safe = {0};

	redact_text(&r->redact, line, len, &safe);
	if (!safe.failed)
		r->call->trace(r->call->trace_user, (hcp_str){safe.data, safe.len});
}

static int build_plan(struct job *j, struct box_plan **plan)
{
	struct run *r = j->r;
	struct hcp_err err = {0};

	if (!r->rt->box)
		return run_refuse_err(r, EXIT_ADAPTER,
				      "sandbox: init unavailable: ", &r->rt->box_err);
	if (box_plan_build(&j->spec, &r->arena, plan, &err) < 0)
		return run_refuse_err(r, exit_of(&err), "", &err);
	return 0;
}

static int act(struct job *j)
{
	struct run *r = j->r;
	struct wrap_stream stream = {.r = r};
	struct box_io io = {.cancel_fd = r->call->cancel_fd,
			    .deadline_ns = r->deadline_ns,
			    .stream = r->call->stream ? wrap_stream_take : NULL,
			    .user = &stream,
			    .trace = tell_denial,
			    .trace_user = r};
	struct box_plan *plan;
	struct hcp_err err = {0};
	int rc;

	if (wrap_jail_lock(j) < 0 || wrap_files_put(j) < 0 || wrap_jail_check_usage(j) < 0 ||
	    build_plan(j, &plan) < 0)
		return -1;
	rc = box_run(r->rt->box, &j->spec, plan, &io, &r->outcome, &err);
	box_plan_wipe(plan);
	wrap_stream_end(&stream);
	if (rc < 0)
		return run_refuse_err(r, exit_of(&err), "", &err);
	r->has_outcome = true;
	/* what the program wrote stays; the caller learns that it is too much */
	if (r->outcome.end == BOX_EXITED && wrap_jail_check_usage(j) < 0)
		return -1;
	if (r->outcome.end == BOX_EXITED && r->outcome.code == 0 && wrap_files_take(j) < 0)
		return -1;
	return wrap_result(r);
}

#define NOBODY "65534"

uid_t wrap_user(const struct run *r)
{
	const char *user = r->granted->sandbox.user;

	/* digits, judged when the policy was read; what else it were would be 0, refused later
	 */
	return (uid_t)strtoul(user ? user : NOBODY, NULL, 10);
}

static void begin(struct job *j, struct run *r)
{
	*j = (struct job){.r = r,
			  .wrap = &r->command->wrap,
			  .bin = {.fd = -1},
			  .jail_fd = -1,
			  .scratch_fd = -1};
	j->spec.sandbox = &r->granted->sandbox;
	j->spec.user = wrap_user(r);
	j->spec.limits = r->limits;
	j->spec.exec = r->granted->exec;
	j->spec.exec_given = r->granted->exec_given;
	j->spec.pack_fd = r->pack->fd;
	j->spec.pack_path = r->pack->path;
	j->spec.jail_fd = -1;
	j->spec.cgroup = r->snap->set.cgroup;
	j->spec.run_id = r->id;
	j->spec.tenant = r->principal.tenant;
	j->spec.trace = r->call->trace != NULL;
}

static int prepare(struct job *j)
{
	if (!j->r->argv)
		return run_refuse(j->r, EXIT_DENIED, "denied: no argv was rendered");
	if (open_bin(j) < 0 || wrap_jail_open(j) < 0 || gather_files(j) < 0 ||
	    wrap_scratch_open(j) < 0 || rewrite_files(j) < 0 || gather_input(j) < 0)
		return -1;
	return fill_spec(j);
}

int wrap_run(struct run *r)
{
	struct job j;
	int rc;

	begin(&j, r);
	rc = prepare(&j) < 0 ? -1 : act(&j);
	if (rc < 0)
		wrap_files_keep(&j);
	job_free(&j);
	return rc;
}

int wrap_plan(struct run *r)
{
	struct box_plan *plan = NULL;
	struct job j;
	int rc;

	begin(&j, r);
	j.spec.only_shown = true;
	rc = prepare(&j) < 0 || wrap_jail_check_usage(&j) < 0 ? -1 : build_plan(&j, &plan);
	if (rc == 0)
		rc = explain_plan(r, &j.spec, plan);
	box_plan_wipe(plan);
	job_free(&j);
	return rc;
}
