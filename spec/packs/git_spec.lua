-- The git pack on the real git: what a repository's own configuration names never runs, and what it holds is told
-- field by field, whatever bytes stand in it.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

describe("git", function()
  local w, work, repo

  local function sh(line, stdin)
    local status, out, err = world.sh(("umask 000; cd %s && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 && %s"):format(
      quote(repo), line), stdin)
    assert(status == 0, line .. ": " .. err .. out)
    return out
  end

  local function grant(block)
    w:policy(([[
grants: [ { principal: "*", capabilities: ["git.*"] } ]
packs:
  git:
    bins: [git]
    workspaces: { repos: { path: "%s", write: true } }
%s]]):format(work, block or ""))
  end

  before_each(function()
    w = world.new()
    work = w.dir .. "/work"
    repo = work .. "/app"
    w:ship("git")
    -- whoever the program is, it must be able to commit
    assert(os.execute("umask 000; mkdir -p " .. quote(repo)))
    sh("git init -q -b main && git config user.name Ada && git config user.email ada@example.org")
    grant()
    w:activate("git")
  end)
  after_each(function() w:close() end)

  local function run(verb, args, fails)
    args = args or {}
    args.repo = args.repo or "app"
    local envelope, _, stderr = w:exec("git", verb, args)
    if fails then
      assert.is_false(envelope.ok)
      return envelope.error
    end
    assert.is_true(envelope.ok, (envelope.error or "") .. stderr)
    return envelope.result
  end

  local function commit(message, files)
    for path, text in pairs(files) do world.write(repo .. "/" .. path, text, "666") end
    sh("chmod -R a+rwX . && git add -A && git commit -q --allow-empty -F -", message)
    sh("chmod -R a+rwX .git")
    return (sh("git rev-parse HEAD"):gsub("\n", ""))
  end

  it("tells what changed and commits just the named paths", function()
    local first = commit("first\n\nwhy\n", { ["a.txt"] = "one\n", ["b.txt"] = "b\n" })
    assert.is_true(run("status").clean)
    world.write(repo .. "/a.txt", "one\ntwo\n", "666")
    world.write(repo .. "/b.txt", "c\n", "666")
    world.write(repo .. "/new file.txt", "n\n", "666")

    local status = run("status")
    assert.same({ "main", first, false }, { status.branch, status.commit, status.clean })
    assert.same({
      { path = "a.txt", index = "unchanged", worktree = "modified" },
      { path = "b.txt", index = "unchanged", worktree = "modified" },
      { path = "new file.txt", index = "untracked", worktree = "untracked" },
    }, status.files)

    assert.equal("confirm required", run("commit", { message = "second", paths = { "a.txt" } }, true))
    local made = run("commit", { message = "# second\n\nbody", paths = { "a.txt", "new file.txt" }, confirm = true })
    assert.same({ "# second", "# second\n\nbody", { first }, { name = "Ada", email = "ada@example.org" } },
      { made.subject, made.message, made.parents, made.author })
    assert.same({ { path = "b.txt", index = "unchanged", worktree = "modified" } }, run("status").files)
    assert.equal(made.commit .. "\n", sh("git rev-parse HEAD"))

    local shown = run("show", {})
    assert.equal(made.commit, shown.commit)
    assert.is_truthy(shown.patch:find("+two\n", 1, true))
    assert.equal("one\n", run("show", { ref = first, path = "a.txt" }).content)

    local diff = run("diff", { from = first, to = "HEAD" })
    assert.same({ { path = "a.txt", added = 1, deleted = 0, binary = false },
      { path = "new file.txt", added = 1, deleted = 0, binary = false } }, diff.files)
    assert.is_truthy(run("diff").patch:find("-b\n+c\n", 1, true))

    local blame = run("blame", { path = "a.txt" }).lines
    assert.same({ { 1, first, "one", "first" }, { 2, made.commit, "two", "# second" } },
      { { blame[1].line, blame[1].commit, blame[1].text, blame[1].subject },
        { blame[2].line, blame[2].commit, blame[2].text, blame[2].subject } })

    local branches = run("branches").branches
    assert.same({ "main", true, made.commit, "# second" },
      { branches[1].name, branches[1].current, branches[1].commit, branches[1].subject })
  end)

  it("commits a removal, and as who it is asked to", function()
    commit("first", { a = "1\n", b = "2\n" })
    os.remove(repo .. "/a")
    sh("git config --unset user.name; git config --unset user.email; chmod a+rw .git/config")
    assert.is_truthy(run("commit", { message = "gone", paths = { "a" }, confirm = true }, true):find("unknown", 1, true))
    local made = run("commit", { message = "gone", paths = { "a" }, author_name = "Bob", author_email = "bob@example.org",
      confirm = true })
    assert.same({ name = "Bob", email = "bob@example.org" }, made.author)
    assert.equal("b\n", sh("git ls-files"))
  end)

  local function thousand()
    local stream = {}
    for i = 1, 1000 do
      local message = "commit " .. i
      stream[#stream + 1] = ("commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata %d\n%sM 644 inline f%d\ndata 4\n%04d\n")
        :format(1700000000 + i, #message, message, i % 50, i)
    end
    sh("git fast-import --quiet --force", table.concat(stream))
    sh("git reset -q --hard && chmod -R a+rwX .")
  end

  it("pages through a thousand commits", function()
    thousand()
    local page = run("log", { limit = 1000 })
    assert.same({ 1000, false, "commit 1000", "commit 1" },
      { #page.commits, page.more, page.commits[1].subject, page.commits[1000].subject })
    page = run("log", { limit = 10, skip = 5 })
    assert.same({ 10, true, "commit 995" }, { #page.commits, page.more, page.commits[1].subject })
    assert.equal(20, #run("log", { path = "f7", limit = 100 }).commits)
    page = run("log", { grep = "commit 77" })
    assert.same({ 11, "commit 779", "commit 77" }, { #page.commits, page.commits[1].subject, page.commits[11].subject })
    assert.equal(200, #run("log", { ref = "main~200", since = "2020-01-01", limit = 200 }).commits)
  end)

  it("tells odd names and messages as they are", function()
    local name, message = "tab\tquote\"new\nline \\ é", "subject \"q\" \27[31m\n\n\1\31 {\"s\":1}\n"
    commit(message, { [name] = "1\n" })
    local entry = run("log").commits[1]
    assert.same({ 'subject "q" \27[31m', 'subject "q" \27[31m\n\n\1\31 {"s":1}' }, { entry.subject, entry.message })
    world.write(repo .. "/" .. name, "2\n", "666")
    assert.equal(name, run("status").files[1].path)
    assert.equal(name, run("diff").files[1].path)
    world.write(repo .. "/bin", "\0\255\0", "666")
    sh("git add bin; chmod -R a+rwX .git")
    assert.same({ path = "bin", binary = true }, run("diff", { staged = true }).files[1])
    sh("git mv bin moved && git commit -qam moved && git mv moved again; chmod -R a+rwX .git")
    local renamed = run("status").files
    table.sort(renamed, function(a, b) return a.path < b.path end)
    assert.same({ "again", "moved", "renamed" }, { renamed[1].path, renamed[1].from, renamed[1].index })
  end)

  it("runs nothing that a repository's configuration names", function()
    thousand()
    commit("first", { a = "1\n", ["b.bad"] = "1\n",
      [".gitattributes"] = "* filter=evil diff=evil merge=evil\n*.bad filter=a.b\n" })
    local mark = repo .. "/.git/marks"
    assert(os.execute("mkdir " .. quote(mark) .. "; chmod 777 " .. quote(mark)))
    local program = "#!/bin/sh\necho ran >>\"$(dirname $0)/marks/x.$1\"\ncat\n"
    world.write(repo .. "/.git/evil", program, "777")
    -- "@" stands for the program as the jail sees it
    for key, value in pairs {
      ["core.fsmonitor"] = "@ fsmonitor", ["core.pager"] = "@ pager", ["core.sshCommand"] = "@ ssh", ["core.editor"] = "@ editor",
      ["core.askPass"] = "@ askpass", ["core.alternateRefsCommand"] = "@ refs", ["diff.external"] = "@ external",
      ["diff.evil.command"] = "@ driver", ["diff.evil.textconv"] = "@ textconv", ["filter.evil.clean"] = "@ clean",
      ["filter.evil.smudge"] = "@ smudge", ["filter.evil.process"] = "@ process", ["filter.evil.required"] = "true",
      ["filter.a.b.clean"] = "@ dotted", ["filter.a.b.required"] = "true", ["merge.evil.driver"] = "@ merge",
      ["gpg.program"] = "@ gpg", ["gpg.ssh.program"] = "@ gpgssh", ["commit.gpgSign"] = "true", ["log.showSignature"] = "true",
      ["user.signingKey"] = "x", ["sequence.editor"] = "@ sequence", ["interactive.diffFilter"] = "@ interactive",
      ["credential.helper"] = "@ credential", ["pager.log"] = "@ pagerlog", ["pager.diff"] = "@ pagerdiff",
      ["pager.status"] = "@ pagerstatus", ["pager.blame"] = "@ pagerblame", ["alias.log"] = "!@ alias",
      ["remote.r.url"] = "ext::@ remote", ["remote.r.promisor"] = "true", ["protocol.ext.allow"] = "always",
      ["extensions.partialClone"] = "r", ["core.repositoryFormatVersion"] = "1", ["core.hooksPath"] = "/workspace/app/.git/hooks",
      ["trace2.normalTarget"] = "/workspace/app/.git/marks/trace",
    } do
      sh(("git -c alias.x= config %s %s"):format(quote(key), quote((value:gsub("@", "/workspace/app/.git/evil")))))
    end
    for _, hook in ipairs { "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-index-change",
      "reference-transaction", "post-rewrite", "fsmonitor-watchman", "pre-auto-gc" } do
      world.write(repo .. "/.git/hooks/" .. hook, program, "777")
    end
    os.execute("touch -d 2001-01-01 " .. quote(repo) .. "/a; echo 2 >>" .. quote(repo) .. "/b.bad; " ..
      "chmod -R a+rwX " .. quote(repo) .. "/.git")
    local function all()
      assert.same({ "b.bad" }, { run("status").files[1].path })
      run("log", { path = "a" })
      assert.is_truthy(run("diff").patch:find("+2\n", 1, true))
      run("diff", { staged = true })
      run("show")
      run("show", { path = "a" })
      run("blame", { path = "a" })
      run("branches")
      -- an object that isn't there is not fetched
      run("show", { ref = ("1"):rep(40) }, true)
      run("commit", { message = "again", paths = { "b.bad" }, confirm = true })
      assert.equal("", world.sh("ls -A " .. quote(mark)) == 0 and select(2, world.sh("ls -A " .. quote(mark))))
    end
    all()
    -- the configuration alone held; with `exec: []` the kernel says the same
    grant("    exec: []\n")
    os.execute("echo 2 >>" .. quote(repo) .. "/b.bad")
    all()
    -- and the traps are real: git by itself falls into them
    world.sh(("cd %s && git -c core.fsmonitor=%s/.git/evil -c safe.directory='*' status >/dev/null"):format(
      quote(repo), quote(repo)))
    assert.is_true(select(2, world.sh("ls -A " .. quote(mark))) ~= "")
  end)

  it("runs nothing that a submodule's configuration names", function()
    commit("first", { a = "1\n" })
    sh("git init -q sub && cd sub && git config user.name Ada && git config user.email a@b && echo 1 >f && git add f && git commit -qm 1")
    local add = "cd %s && git -c advice.addEmbeddedRepo=false add sub && git commit -qm '%s' && chmod -R a+rwX ."
    sh(add:format(quote(repo), "sub 1"))
    sh("cd sub && echo 2 >f && git commit -qam 2")
    sh(add:format(quote(repo), "sub 2"))
    world.write(repo .. "/.git/evil", "#!/bin/sh\ntouch \"${0%/*}/ran\"\n", "777")
    sh("git config diff.submodule diff; git config submodule.sub.ignore none; git config submodule.sub.active true")
    sh("for key in diff.external core.fsmonitor; do git -C sub config $key /workspace/app/.git/evil; done; chmod -R a+rwX .")
    run("status")
    assert.is_truthy(run("show").patch:find("+Subproject commit ", 1, true))
    run("diff", { from = "HEAD~1", to = "HEAD" })
    run("commit", { message = "nothing", paths = { "a" }, confirm = true }, true)
    assert.is_nil(world.read(repo .. "/.git/ran"))
    -- and the trap is real
    sh("for key in diff.external core.fsmonitor; do git -C sub config $key \"$PWD/.git/evil\"; done; git show >/dev/null")
    assert.equal("", world.read(repo .. "/.git/ran"))
  end)

  it("keeps to the granted folder and to its own options", function()
    commit("first", { a = "1\n" })
    for _, path in ipairs { "..", "../x", "/etc", "a/../../b", "x/.." } do
      assert.is_truthy(run("status", { repo = path }, true):find("^invalid args: repo: ") or path == "x/..", path)
    end
    for _, ref in ipairs { "--output=/workspace/app/pwned", "-p", "--exec=x" } do
      assert.is_truthy(run("log", { ref = ref }, true):find("^invalid args: ref: "))
      assert.is_truthy(run("show", { ref = ref }, true):find("^invalid args: ref: "))
    end
    assert.is_truthy(run("blame", { path = "--contents=/etc/passwd" }, true):find("^invalid args: path: "))
    run("log", { author = "--output=pwned" })
    run("log", { grep = "--output=pwned" })
    assert.is_nil(world.read(repo .. "/pwned"))
    -- pathspec magic is a name
    assert.same({}, run("diff", { paths = { ":(top)*" } }).files)
    -- a `.git` that points out of the folder
    assert(os.execute(("mkdir -p %s/other && echo 'gitdir: %s/.git' >%s/other/.git"):format(quote(work),
      quote(world.source), quote(work))))
    assert.is_truthy(run("log", { repo = "other" }, true):find("not a git repository", 1, true))
    assert.same(cjson.null, run("status").upstream)
  end)
end)
