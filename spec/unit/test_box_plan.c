/* SPDX-License-Identifier: MIT */
/* The plan as people see it: built from a spec and read back from the block that an init would
 * read. Nothing is started and nothing mounted, so root isn't needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "box/plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct want {
	struct arena arena;
	struct policy_sandbox sandbox;
	struct box_bin bin;
	struct box_spec spec;
	struct hcp_err err;
	json_t *json;
};

static char *argv[] = {"./bin/show", "--amount=10", NULL};
static char *envp[] = {"PATH=/usr/bin", "TOKEN=very-secret-value", NULL};
static uint16_t ports[] = {443, 8443};

static int begin(void **state)
{
	struct want *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->sandbox.limits = policy_pack_default()->sandbox.limits;
	w->bin = (struct box_bin){
	    .fd = -1, .host = "/srv/pack/bin/show", .inside = "/pack/bin/show"};
	w->spec = (struct box_spec){.sandbox = &w->sandbox,
				    .limits = w->sandbox.limits,
				    .bin = &w->bin,
				    .argv = argv,
				    .envp = envp,
				    .pack_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				    .pack_path = "/srv/pack",
				    .jail_fd = -1,
				    .user = 65534};
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct want *w = *state;

	json_decref(w->json);
	close(w->spec.pack_fd);
	arena_free(&w->arena);
	free(w);
	return 0;
}

static const json_t *show(struct want *w)
{
	struct box_plan *plan = NULL;

	if (box_plan_build(&w->spec, &w->arena, &plan, &w->err) < 0)
		fail_msg("%s", w->err.text);
	w->json = box_plan_json(plan);
	assert_non_null(w->json);
	return w->json;
}

static const char *text_at(const json_t *top, const char *key)
{
	const char *s = json_string_value(json_object_get(top, key));

	return s ? s : "";
}

static void assert_list(const json_t *list, const char *joined)
{
	char text[256] = "";
	json_t *v;
	size_t i;

	assert_true(json_is_array(list));
	json_array_foreach((json_t *)(uintptr_t)list, i, v)
	{
		strcat(text, i ? "," : "");
		strcat(text, json_string_value(v));
	}
	assert_string_equal(text, joined);
}

static const json_t *place(const json_t *top, const char *at)
{
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(top, "places"), i,
			   v) if (strcmp(text_at(v, "at"), at) == 0) return v;
	return NULL;
}

static void test_strong(void **state)
{
	const json_t *top = show(*state), *limits = json_object_get(top, "limits");

	assert_string_equal(text_at(top, "tier"), "strong");
	assert_string_equal(text_at(top, "network"), "none");
	assert_string_equal(text_at(top, "bin"), "/pack/bin/show");
	assert_string_equal(text_at(top, "cwd"), "/pack");
	assert_string_equal(text_at(top, "exec"), "everything in sight");
	assert_true(json_is_false(json_object_get(top, "stdin")));
	assert_list(json_object_get(top, "layers"),
		    "userns,mntns,pidns,ipcns,utsns,netns,landlock,seccomp");
	assert_int_equal(json_integer_value(json_object_get(top, "uid")),
			 geteuid() == 0 ? 65534 : geteuid());
	assert_int_equal(json_integer_value(json_object_get(limits, "cpu_s")), 10);
	assert_int_equal(json_integer_value(json_object_get(limits, "memory")), 512 << 20);
	assert_int_equal(json_integer_value(json_object_get(limits, "processes")), 64);
	assert_string_equal(text_at(limits, "held"), "process");
	assert_int_equal(json_integer_value(json_object_get(limits, "open_files")), 256);
}

static void test_places(void **state)
{
	struct want *w = *state;
	struct policy_folder read[] = {{.path = "/opt"}}, write[] = {{.path = "/srv/out"}};
	const json_t *top, *p;

	w->sandbox.read = read;
	w->sandbox.write = write;
	w->sandbox.read_count = w->sandbox.write_count = 1;
	top = show(w);
	p = place(top, "/pack");
	assert_string_equal(text_at(p, "kind"), "bind");
	assert_string_equal(text_at(p, "from"), "/srv/pack");
	assert_true(json_is_false(json_object_get(p, "write")));
	assert_true(json_is_false(json_object_get(place(top, "/opt"), "write")));
	assert_true(json_is_true(json_object_get(place(top, "/srv/out"), "write")));
	assert_string_equal(text_at(place(top, "/tmp"), "kind"), "tmpfs");
	assert_string_equal(text_at(place(top, "/tmp"), "options"),
			    "size=67108864,nr_inodes=65536,mode=1777");
	assert_null(place(top, "/"));
	assert_null(place(top, "/home"));
	assert_null(place(top, "/workspace"));
}

static void test_values_are_not_shown(void **state)
{
	struct want *w = *state;
	const struct box_file file = {"pin", "1234-secret", 11};
	char *text;

	w->spec.files = &file;
	w->spec.file_count = 1;
	w->spec.stdin_data = "input-secret";
	w->spec.stdin_len = 12;
	show(w);
	text = json_dumps(w->json, 0);
	assert_non_null(text);
	assert_null(strstr(text, "secret"));
	assert_non_null(strstr(text, "/files/pin"));
	assert_true(json_is_true(json_object_get(w->json, "stdin")));
	free(text);
}

static void test_network(void **state)
{
	struct want *w = *state;
	const json_t *list;

	w->sandbox.network = POLICY_NET_CONNECT;
	w->sandbox.connect_ports = ports;
	w->sandbox.connect_count = 2;
	list = json_object_get(json_object_get(show(w), "network"), "connect");
	assert_int_equal(json_array_size(list), 3);
	assert_int_equal(json_integer_value(json_array_get(list, 2)), 53); /* for names */
	assert_int_equal(json_integer_value(json_array_get(list, 0)), 443);
	assert_int_equal(json_integer_value(json_array_get(list, 1)), 8443);
	assert_list(json_object_get(w->json, "layers"),
		    "userns,mntns,pidns,ipcns,utsns,landlock,seccomp");
	json_decref(w->json);
	w->sandbox.network = POLICY_NET_HOST;
	w->sandbox.connect_count = 0;
	assert_string_equal(text_at(show(w), "network"), "host");
}

static void test_light_names_its_scratch_without_making_it(void **state)
{
	struct want *w = *state;
	const json_t *top;

	w->sandbox.tier = POLICY_LIGHT;
	w->spec.jail = BOX_JAIL_TMPFS;
	w->spec.cwd_jail = true;
	assert_int_equal(box_scratch_names(&w->spec, "/nowhere/scratch/X", &w->arena, &w->err),
			 0);
	top = show(w);
	assert_string_equal(text_at(top, "tier"), "light");
	assert_string_equal(text_at(top, "cwd"), "/nowhere/scratch/X/jail");
	assert_true(
	    json_is_true(json_object_get(place(top, "/nowhere/scratch/X/tmp"), "write")));
	assert_null(place(top, "/nowhere/scratch/X/files"));
	assert_list(json_object_get(top, "layers"), "landlock,seccomp");
	assert_int_equal(access("/nowhere", F_OK), -1);
}

/* Limits that a cgroup holds stay in sight, and so does that it does. */
static void test_a_cgroup_holds_its_limits(void **state)
{
	struct want *w = *state;
	const json_t *limits;

	w->spec.cgroup = "/sys/fs/cgroup/hcp";
	w->sandbox.tier = POLICY_LIGHT;
	assert_int_equal(box_scratch_names(&w->spec, "/nowhere", &w->arena, &w->err), 0);
	limits = json_object_get(show(w), "limits");
	assert_int_equal(json_integer_value(json_object_get(limits, "memory")), 512 << 20);
	assert_int_equal(json_integer_value(json_object_get(limits, "processes")), 64);
	assert_string_equal(text_at(limits, "held"), "cgroup");
	assert_list(json_object_get(w->json, "layers"), "cgroup,landlock,seccomp");
}

static void test_exec_list(void **state)
{
	struct want *w = *state;
	const char *names[] = {"jq", "/usr/bin/awk", "./lib/x"};

	w->spec.exec = (struct conf_strings){.count = 3, .items = names, .given = true};
	w->spec.exec_given = true;
	assert_list(json_object_get(show(w), "exec"),
		    "/usr/local/bin/jq,/usr/bin/jq,/bin/jq,/usr/bin/awk,/pack/./lib/x");
}

/* A jail that isn't there yet can be shown; without a descriptor it can't be run. */
static void test_a_shown_plan_is_none_to_run(void **state)
{
	struct want *w = *state;
	struct box_plan *plan = NULL;
	struct box_outcome out;
	struct box_io io = {.cancel_fd = -1};

	w->spec.jail = BOX_JAIL_FOLDER;
	w->spec.jail_path = "/var/lib/x/workspaces/default/-/demo";
	w->spec.jail_write = w->spec.cwd_jail = true;
	assert_int_equal(box_plan_build(&w->spec, &w->arena, &plan, &w->err), -1);
	assert_null(plan);
	w->err = (struct hcp_err){0};
	w->spec.only_shown = true;
	assert_int_equal(box_plan_build(&w->spec, &w->arena, &plan, &w->err), 0);
	w->json = box_plan_json(plan);
	assert_string_equal(text_at(place(w->json, "/workspace"), "from"), w->spec.jail_path);
	assert_int_equal(plan->magic, 0);
	assert_int_equal(box_run(NULL, &w->spec, plan, &io, &out, &w->err), -1);
	assert_string_equal(w->err.text, "sandbox: the plan is not one to be run");
	assert_int_equal(out.end, BOX_FAILED);
}

static void test_what_was_wiped_is_gone(void **state)
{
	struct want *w = *state;
	struct box_plan *plan;
	size_t size;

	assert_int_equal(box_plan_build(&w->spec, &w->arena, &plan, &w->err), 0);
	size = plan->size;
	assert_non_null(memmem(plan, size, "very-secret-value", 17));
	box_plan_wipe(plan);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(((unsigned char *)plan)[i], 0);
	box_plan_wipe(NULL);
}

int main(void)
{
#define PLAN_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
	    PLAN_TEST(test_strong),
	    PLAN_TEST(test_places),
	    PLAN_TEST(test_values_are_not_shown),
	    PLAN_TEST(test_network),
	    PLAN_TEST(test_light_names_its_scratch_without_making_it),
	    PLAN_TEST(test_a_cgroup_holds_its_limits),
	    PLAN_TEST(test_exec_list),
	    PLAN_TEST(test_a_shown_plan_is_none_to_run),
	    PLAN_TEST(test_what_was_wiped_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
