-- hcp doctor, and runs, on hosts that give everything and on hosts that refuse a part of the sandbox: by a filter, by a
-- setting, by a chroot, by what lies over /proc. Tier strong must fail by name there and run nothing.
local cjson = require "cjson"
local world = require "world"

local quote = world.quote
local is_root = world.sh("[ $(id -u) = 0 ]") == 0

local manifest = [[
hcp: 1
pack_id: %s
version: 1.0.0
summary: Leaves a marker
wrap: { bin: ./bin/mark, json_flag: [], workspace: { mode: workspace } }
commands:
  mark: { summary: Leaves a marker, cli: [mark], effect: write }
  "check up": { summary: Says how it is, cli: [mark], health: true }
]]
local requirements = "hcp: 1\npolicies: { mark: {}, check up: {} }\n"
local script = { "#!/bin/sh\necho ran > marker\necho ran\n", "755" }
local grants = [[
auth: { provider: os_user }
grants: [ { principal: "*", capabilities: ["*"] } ]
packs:
  careful: { bins: [./bin/mark] }
  modest: { bins: [./bin/mark], sandbox: { tier: light } }
]]

-- What hcp is made of, owned by whom it runs as: in a user namespace of one id everybody else is a stranger.
local function copy_hcp(w)
  local at = w.dir .. "/hcp"
  local build, to = quote(world.build), quote(at)
  -- a checkout made under umask 002 is its group's to write
  local _, _, err = world.sh(("mkdir -p %s/hcp-data && cp -L %s/hcp %s/hcp-init %s/libhcp.so.0 %s && " ..
    "cp -r adapters policies %s/hcp-data && chmod -R go-w %s"):format(to, build, build, build, to, to, to))
  assert.equal("", err)
  return at
end

describe("hcp doctor", function()
  local w, hcp

  before_each(function()
    w = world.new()
    for _, id in ipairs { "careful", "modest" } do
      w:pack(id, { ["pack.yaml"] = manifest:format(id), ["policy.yaml"] = requirements, ["bin/mark"] = script })
    end
    w:policy(grants)
    hcp = copy_hcp(w)
    os.execute("mkdir -m 700 " .. quote(w.state) .. " && chmod 711 " .. quote(w.dir))
    if is_root then os.execute("chown -R 12345:12345 " .. quote(w.dir)) end
  end)
  after_each(function() w:close() end)

  -- An ordinary user, who is root's uid 12345 where root runs the specs.
  local as_user = is_root and "setpriv --reuid 12345 --regid 12345 --clear-groups " or ""

  -- `around` starts what stands behind it in its own way; %s in it is the folder of this test.
  local function run(who, around, words)
    return world.sh(("%s env LD_LIBRARY_PATH=%s %s %s --root %s --state %s %s"):format(who, quote(hcp),
      (around:gsub("%%s", (w.dir:gsub("%%", "%%%%")))), quote(hcp .. "/hcp"), quote(w.root), quote(w.state), words))
  end

  local function doctor(who, around)
    local status, out, err = run(who, around, "doctor")
    assert.equal("", err)
    return cjson.decode(out), status
  end

  local function exec(who, around, pack)
    local status, out, err = run(who, around, "activate " .. pack)
    assert.same({ 0, "" }, { status, err }, out)
    status, out = run(who, around, "exec " .. pack .. " mark")
    return cjson.decode(out), status
  end

  local function marker(pack)
    return world.read(w.state .. "/workspaces/default/-/" .. pack .. "/marker")
  end

  local function last_record()
    local records = w:audit()
    return records[#records]
  end

  local function row(report, layer)
    for _, r in ipairs(report.layers) do
      if r.layer == layer then return r end
    end
  end

  local function states(report)
    local all = {}
    for _, r in ipairs(report.layers) do all[r.layer] = r.state end
    return all
  end

  local function check(report, name, about)
    for _, r in ipairs(report.checks) do
      if r.check == name and (not about or r.about == about) then return r end
    end
  end

  local without = quote(world.build) .. "/programs/without "
  -- One's own user namespace with mounts of its own; what is set up there can't be undone by hcp.
  local function own(setup, front)
    return "unshare -U --map-current-user --keep-caps -m sh -c " .. quote(setup .. " || exit 99; exec " .. (front or "") ..
      [[ setpriv --ambient-caps=-all --inh-caps=-all "$@"]]) .. " sh "
  end
  local tree = [[mkdir -p %s/tree && cd %s/tree && for d in /*; do
      if [ -L $d ]; then ln -sfn "$(readlink $d)" .$d; elif [ -d $d ]; then mkdir -p .$d && mount --rbind $d .$d; fi || exit 99
    done]]
  local strong = "userns,mntns,pidns,netns,ipcns,utsns,landlock%d+,seccomp"

  local everybody = { { "an ordinary user", as_user } }
  if is_root then everybody[2] = { "root", "" } end

  for _, one in ipairs(everybody) do
    local name, who = one[1], one[2]

    it("finds both tiers where nothing is refused, as " .. name, function()
      if name == "root" then os.execute("chown -R 0:0 " .. quote(w.dir)) end
      local report, status = doctor(who, "")
      assert.same({ 0, true, "strong", nil }, { status, report.ok, report.tier, report.why })
      assert.same({ "strong", true, "light", true }, { report.tiers[1].tier, report.tiers[1].held, report.tiers[2].tier,
        report.tiers[2].held })
      assert.matches("^" .. strong .. "$", report.tiers[1].layers)
      assert.matches("^landlock%d+,seccomp$", report.tiers[2].layers)
      assert.same({ userns = "held", mntns = "held", pidns = "held", netns = "held", ipcns = "held", utsns = "held",
        landlock = "held", seccomp = "held" }, states(report))
      assert.equal(name == "root" and 0 or tonumber((select(2, world.sh(who .. "id -u")))), report.host.uid)
      assert.equal(select(2, world.sh("uname -r")), report.host.kernel .. "\n")
      -- it ran what a run runs: the layers are those of a record
      assert.is_true(exec(who, "", "careful").ok)
      assert.same({ "strong", report.tiers[1].layers }, { last_record().tier, last_record().layers })
      assert.is_true(exec(who, "", "modest").ok)
      assert.same({ "light", report.tiers[2].layers }, { last_record().tier, last_record().layers })
    end)
  end

  -- who, around, layer, state, by, the error of a run in tier strong
  local by_filter = "a seccomp filter of the surroundings refuses it, as in containers"
  local cases = {
    ["clone refuses user namespaces"] = { as_user, without .. "clone:0:0x10000000=EPERM clone3=ENOSYS --", "userns", "blocked",
      "seccomp", "Operation not permitted", by_filter },
    ["clone works and a later mount is refused"] = { as_user, without .. "mount=EPERM --", "procfs", "blocked", "seccomp",
      "/proc: Operation not permitted", by_filter },
    ["the newer mount calls are refused"] = { as_user, without .. "fsopen=EPERM --", "root", "blocked", "seccomp",
      "tmpfs: Operation not permitted", by_filter },
    ["clone works and the maps can't be written"] = { as_user, own "mount --rbind /proc /proc && mount -o remount,bind,ro /proc",
      "userns", "blocked", "masked proc", "self/setgroups: Read-only file system", "/proc is read-only, as in containers" },
    ["/proc is masked"] = { as_user, own "mount --bind /dev/null /proc/version", "procfs", "blocked", "masked proc",
      "/proc: Operation not permitted",
      "/proc/version is covered by another mount, as in containers, and then a new proc is refused" },
    ["user.max_user_namespaces is 0"] = { as_user, own "echo 0 > /proc/sys/user/max_user_namespaces", "userns", "disabled",
      "user.max_user_namespaces", "No space left on device", "user.max_user_namespaces is 0" },
    ["it is in a chroot"] = { as_user, own(tree, "/usr/sbin/chroot ."), "userns", "blocked", "chroot",
      "Operation not permitted", "inside a chroot, where the kernel refuses new namespaces and roots" },
  }
  if is_root then
    cases["root can't unshare"] = { "", without .. "unshare=EPERM --", "userns", "blocked", "seccomp",
      "unshare: Operation not permitted", by_filter }
    cases["root can't clone"] = { "", without .. "clone:0:0x20000=EPERM --", "mntns", "blocked", "seccomp",
      "Operation not permitted", by_filter }
    cases["root is in a chroot"] = { "", "unshare -m sh -c " .. quote(tree .. [[; exec /usr/sbin/chroot . "$@"]]) .. " sh",
      "mntns", "blocked", "chroot", "/: Invalid argument", "inside a chroot, where the kernel refuses new namespaces and roots" }
    cases["root has lost CAP_SYS_ADMIN"] = { "", "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin", "mntns",
      "blocked", "capabilities", "Operation not permitted", "root has no CAP_SYS_ADMIN here, as in containers" }
  end

  for name, case in pairs(cases) do
    local who, around, layer, state, by, error, why = table.unpack(case)
    error = ("sandbox: %s unavailable: %s (%s)"):format(layer, error, why)

    describe("where " .. name, function()
      before_each(function()
        if is_root and who == "" then os.execute("chown -R 0:0 " .. quote(w.dir)) end
      end)

      it("says so, and that tier light is what can be had", function()
        local report, status = doctor(who, around)
        assert.same({ 1, false, "light", error }, { status, report.ok, report.tier, report.why })
        assert.same({ tier = "strong", held = false, layers = report.tiers[1].layers, error = error }, report.tiers[1])
        assert.is_true(report.tiers[2].held, report.tiers[2].error)
        local r = row(report, layer)
        assert.same({ state, by, why }, { r.state, r.by, r.why })
        assert.is_true(#r.fix > 0)
        assert.equal("held", row(report, "landlock").state)
      end)

      it("tier strong refuses by name and runs nothing, tier light runs and is recorded as that", function()
        local envelope, status = exec(who, around, "careful")
        assert.same({ { ok = false, pack_id = "careful", verb_key = "mark", error = error }, 1 }, { envelope, status })
        assert.is_nil(marker("careful"))
        local record = last_record()
        assert.same({ "end", error }, { record.kind, record.error })
        assert.same({}, { record.tier, record.layers, record.exit_code })

        envelope, status = exec(who, around, "modest")
        assert.same({ true, "ran\n", 0 }, { envelope.ok, envelope.result, status }, envelope.error)
        assert.equal("ran\n", marker("modest"))
        record = last_record()
        assert.same({ "end", "light", 0 }, { record.kind, record.tier, record.exit_code })
        assert.matches("^landlock%d+,seccomp$", record.layers)
      end)
    end)
  end

  for errno, how in pairs {
    ENOSYS = { "blocked", "seccomp", "Function not implemented", by_filter },
    EOPNOTSUPP = { "disabled", "lsm", "Operation not supported",
      "Landlock is built in and not among the active security modules" },
  } do
    it("without Landlock there is no tier, and nothing runs: " .. errno, function()
      local around = without .. "landlock_create_ruleset=" .. errno .. " --"
      local state, by, text, why = table.unpack(how)
      local error = ("sandbox: landlock unavailable: kernel: %s (%s)"):format(text, why)
      local report, status = doctor(as_user, around)
      assert.same({ 1, false, "none", error, 0 }, { status, report.ok, report.tier, report.why, report.host.landlock })
      assert.same({ error, error }, { report.tiers[1].error, report.tiers[2].error })
      assert.same({ state, by, why }, { row(report, "landlock").state, row(report, "landlock").by, row(report, "landlock").why })
      for _, pack in ipairs { "careful", "modest" } do
        local envelope
        envelope, status = exec(as_user, around, pack)
        assert.same({ { ok = false, pack_id = pack, verb_key = "mark", error = error }, 1 }, { envelope, status })
        assert.is_nil(marker(pack))
      end
    end)
  end

  it("names a configuration that is broken, and tries the sandbox all the same", function()
    w:put("hcp.yaml", "hcp: 1\nstatte: x\n")
    local report, status = doctor(as_user, "")
    assert.same({ 1, false, "strong" }, { status, report.ok, report.tier })
    assert.equal("broken", check(report, "config").state)
    assert.matches('hcp%.yaml:2: .*"statte"', check(report, "config").why)
    assert.equal("held", row(report, "userns").state)
    w:put("hcp.yaml", "hcp: 1\n")
    w:policy("grants: 5\n", "wrong")
    report, status = doctor(as_user, "")
    assert.equal(1, status)
    assert.matches("wrong%.yaml:2: ", check(report, "config").why)
    os.remove(w.root .. "/policies/wrong.yaml")
    assert.equal(0, select(2, doctor(as_user, "")))
  end)

  it("names packs that don't load and programs that aren't there", function()
    w:pack("broken", { ["pack.yaml"] = "hcp: 1\npack_id: broken\n" })
    local needs = "requires: [sh, no-such-program, /usr/no/other, /usr/bin/env]\n"
    w:pack("needy", { ["pack.yaml"] = manifest:format("needy") .. needs, ["policy.yaml"] = requirements, ["bin/mark"] = script })
    local report, status = doctor(as_user, "")
    assert.equal(0, status)
    assert.equal("ok", check(report, "pack", "careful").state)
    assert.equal("broken", check(report, "pack", "broken").state)
    assert.matches("^unknown pack broken: packs/broken/pack%.yaml:", check(report, "pack", "broken").why)
    local needy = check(report, "pack", "needy")
    assert.same({ "warning", "it requires no-such-program, /usr/no/other: not there (looked for in " ..
      "/usr/local/bin:/usr/bin:/bin)" }, { needy.state, needy.why })
  end)

  it("lists health commands and runs none of them", function()
    local report = doctor(as_user, "")
    assert.same({ { pack_id = "careful", verb_key = "check up", run = "hcp exec careful check up" },
      { pack_id = "modest", verb_key = "check up", run = "hcp exec modest check up" } }, report.health)
    assert.same({}, { marker("careful"), marker("modest") })
  end)

  it("names the Lua that is linked, and warns of one before 5.4.8", function()
    local lua = check(doctor(as_user, ""), "lua")
    local major, minor, patch = lua.about:match("^(%d+)%.(%d+)%.(%d+)$")
    assert.same({ "5", "4" }, { major, minor })
    assert.equal(tonumber(patch) < 8 and "warning" or "ok", lua.state)
  end)

  it("says what becomes of a cgroup that the settings name", function()
    assert.is_nil(check(doctor(as_user, ""), "cgroup"))
    w:put("hcp.yaml", "hcp: 1\ncgroup: /usr\n")
    local row_of = check(doctor(as_user, ""), "cgroup", "/usr")
    assert.same({ "broken", "sandbox: cgroup unavailable: /usr is no cgroup v2 folder" }, { row_of.state, row_of.why })
  end)

  it("is what a refused run points to", function()
    run(as_user, "", "activate careful")
    local _, _, err = run(as_user, without .. "clone:0:0x10000000=EPERM clone3=ENOSYS --", "exec careful mark")
    assert.equal("hint: what this host gives, and how to get more: hcp doctor\n", err)
  end)

  it("takes no words, and refuses an init that isn't its own", function()
    assert.same({ 2, "", "hcp: doctor takes no words\nusage: hcp doctor\n" }, { run(as_user, "", "doctor all") })
    world.write(hcp .. "/hcp-init", "#!/bin/sh\ntrue\n", "755")
    if is_root then os.execute("chown 12345 " .. quote(hcp .. "/hcp-init")) end
    local report, status = doctor(as_user, "")
    assert.same({ 1, "none" }, { status, report.tier })
    assert.matches("^sandbox: init unavailable: .*/hcp%-init is not the init of this build", report.why)
    assert.equal("broken", check(report, "init").state)
    assert.equal("untried", row(report, "userns").state)
  end)

  it("leaves nothing behind", function()
    local before = select(2, world.sh("ls -d /tmp/hcp-doctor-* 2>/dev/null"))
    doctor(as_user, "")
    assert.equal(before, select(2, world.sh("ls -d /tmp/hcp-doctor-* 2>/dev/null")))
  end)
end)
