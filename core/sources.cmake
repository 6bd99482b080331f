# SPDX-License-Identifier: MIT
# Every source, in the order of the story: what is underneath first, the run last.
set(HCP_BASE_SOURCES
  base/err.c base/arena.c base/str.c base/time.c base/xfsz.c base/fd.c base/tree.c base/trust.c base/json.c base/json_read.c base/yaml.c base/yaml_tree.c base/conf.c base/conf_schema.c
  base/inflate.c base/tar.c)

set(HCP_CORE_SOURCES
  root/read.c root/settings.c root/root.c root/state.c
  secret/secret.c secret/file.c secret/store.c secret/key.c secret/redact.c
  net/hosts.c net/net.c net/jwt.c
  script/rehash.c script/limits.c script/match.c script/value.c script/value_push.c script/value_read.c script/value_write.c
  script/source.c script/stack.c script/state.c script/call.c script/script.c
  script/l_base.c script/l_string.c script/l_table.c script/l_require.c script/l_json.c script/l_os.c
  script/l_secret.c script/l_ctx.c script/l_hcp.c script/l_host.c script/l_mint.c script/l_encode.c
  script/json_path.c script/l_http_request.c script/l_http.c script/l_jwt.c
  argv/string.c argv/compile.c argv/advise.c argv/render.c argv/files.c
  pack/number.c pack/pattern.c pack/schema.c pack/schema_validate.c pack/schema_values.c
  pack/tables.c pack/read.c pack/pack.c pack/cache.c pack/manifest.c pack/command.c pack/wrap.c pack/policies.c
  pack/describe.c pack/list.c pack/requires.c
  pack/lockfile.c pack/signature.c pack/needs.c pack/stage.c pack/stage_fill.c
  session/store.c session/session.c
  policy/tables.c policy/block.c policy/sandbox.c policy/identity.c policy/file.c policy/folders.c policy/check.c
  policy/load.c policy/match.c policy/who.c
  audit/chain.c audit/record.c audit/files.c audit/lines.c audit/place.c audit/lock.c audit/store.c
  audit/append.c audit/audit.c audit/read.c audit/tail.c audit/verify_chain.c audit/verify_ends.c audit/verify.c
  audit/mend.c audit/recover.c audit/rotate.c audit/copy.c audit/retain.c audit/sign.c audit/export.c
  box/host.c box/places.c box/scratch.c box/bin.c box/cgroup.c box/trace.c box/filter.c box/plan.c box/plan_json.c box/spawn.c box/stage.c box/hand.c
  box/facts.c box/cause.c box/run.c box/probe.c
  runtime/where.c runtime/snapshot.c runtime/extend.c runtime/runtime.c runtime/result.c runtime/call.c runtime/start.c runtime/refresh.c runtime/admin.c runtime/permitted.c runtime/problems.c runtime/lint.c runtime/pack_lint.c runtime/pack_trial.c runtime/pack_add.c runtime/pack_sign.c runtime/who.c runtime/secrets.c runtime/schema.c
  runtime/audit.c runtime/doctor.c
  exec/envelope.c exec/exec.c exec/step_pack.c exec/step_session.c exec/step_policy.c exec/step_principal.c
  exec/step_capability.c exec/step_confirm.c exec/consent.c exec/step_mint.c exec/mint_hook.c exec/binding.c exec/step_adapter.c exec/hidden.c exec/step_audit.c
  exec/operator_script.c exec/lua_adapter.c exec/host_call.c exec/nested.c exec/wrap_jail.c exec/wrap_scratch.c exec/wrap_env.c exec/wrap_stream.c exec/wrap_files.c exec/wrap_result.c
  exec/wrap.c exec/explain.c exec/workspace.c exec/run.c)

set(HCP_INIT_SOURCES
  box/init/start.c box/init/main.c box/init/ids.c box/init/root.c box/init/stage.c box/init/programs.c box/init/landlock.c
  box/init/exec.c box/init/orphans.c box/init/trace.c box/init/supervise.c)

# Serving: between the command line and the public library, bytes in and out.
set(HCP_FACE_SOURCES
  face/lines.c face/request.c face/socket.c face/serve.c face/http_guard.c face/http.c face/mcp_write.c face/mcp_tools.c face/mcp_consent.c face/mcp_call.c face/mcp_jobs.c face/mcp.c)

# hcp-http.so, which alone is linked with libmicrohttpd.
set(HCP_HTTP_SOURCES
  face/lines.c face/request.c face/http_guard.c
  face/http/openapi.c face/http/job.c face/http/request.c face/http/judge.c face/http/handler.c face/http/loop.c face/http/door.c)

set(HCP_NET_SOURCES
  base/err.c net/module/http.c net/module/key.c net/module/sign.c net/module/door.c)

set(HCP_CLI_SOURCES
  cli/main.c cli/options.c cli/args.c cli/token.c cli/describe.c cli/print.c cli/envelope.c cli/progress.c cli/files.c cli/cmd_exec.c cli/cmd_session.c cli/cmd_packs.c cli/cmd_workspace.c
  cli/explain_run.c cli/cmd_explain.c cli/problems.c cli/cmd_pack.c cli/pack_new.c cli/pack_test.c cli/pack_docs.c cli/pack_add.c cli/cmd_policy.c cli/cmd_secret.c cli/policy_test.c cli/cmd_audit.c cli/cmd_audit_read.c cli/cmd_doctor.c
  cli/link_name.c cli/link_file.c cli/cmd_link.c cli/linked.c cli/flags.c cli/help.c cli/complete.c cli/cmd_completion.c cli/cmd_mcp.c cli/cmd_serve.c cli/cmd_schema.c)
