-- hcp completion: what the shells themselves make of it. A line is typed up to a tab, and what then ran tells.
local world = require "world"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: demo
version: 1.0.0
summary: A pack for shells
bin: dem
commands:
  transfer:
    summary: Move money
    kind: composite
    script: verbs/echo.lua
    effect: write
    args:
      properties:
        amount: { type: number, description: "How \e[31m much" }
        dry_run: { type: boolean }
        speed: { enum: [fast, "not at all", "$(touch $HOME/pwned)", "a\tb"] }
        kinds: { type: array, items: { enum: [one, two] } }
  "report month": { summary: A month, kind: composite, script: verbs/echo.lua, effect: read }
  "report year": { summary: A year, kind: composite, script: verbs/echo.lua, effect: read }
]]

describe("completion", function()
  local w, bin, env
  local function ask(...)
    local words = {}
    for i, word in ipairs { ... } do words[i] = quote(word) end
    local status, out, err = world.sh(env .. table.concat(words, " "))
    assert.equal(0, status)
    assert.equal("", err)
    return out
  end

  setup(function()
    w = world.new()
    bin = w.dir .. "/bin"
    assert(os.execute("mkdir " .. quote(bin) .. " && ln -s " .. quote(world.hcp) .. " " .. quote(bin .. "/hcp")))
    w:pack("demo", {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = "hcp: 1\npolicies: { transfer: { confirm: true }, report month: {}, report year: {} }\n",
      ["verbs/echo.lua"] = "return function(args, ctx) return { verb = ctx.verb_key, args = args } end\n",
    })
    w:policy 'grants: [ { principal: "*", capabilities: ["demo.*"] } ]\n'
    w:activate "demo"
    assert.equal(0, (w:cli { "link", "demo", "--dir", bin }))
    env = ("cd %s && HOME=%s HCP_ROOT=%s HCP_STATE=%s PATH=%s:$PATH "):format(w.dir, w.dir, w.root, w.state, bin)
  end)
  teardown(function() w:close() end)

  it("knows verbs, packs, verbs of packs, arguments and listed values of hcp", function()
    assert.equal("exec\trun one command\nexplain\twhy a command would run or not, step by step; runs nothing\n",
      ask("hcp", "__complete", "ex"))
    assert.equal("demo\tA pack for shells\n", ask("hcp", "__complete", "exec", ""))
    assert.equal("transfer\tMove money\nreport\nreport\n", ask("hcp", "__complete", "exec", "demo", ""))
    assert.equal("month\tA month\n", ask("hcp", "__complete", "exec", "demo", "report", "m"))
    assert.equal("speed=\n", ask("hcp", "__complete", "exec", "demo", "transfer", "sp"))
    assert.equal("kinds=one\nkinds=two\n", ask("hcp", "__complete", "exec", "demo", "transfer", "kinds="))
    assert.equal("dry_run=true\n", ask("hcp", "__complete", "exec", "demo", "transfer", "dry_run=t"))
    assert.equal("ls\nget\nput\nrm\n", ask("hcp", "__complete", "workspace", ""))
    assert.equal("show\n", ask("hcp", "__complete", "policy", "s"))
    assert.equal("--root\tthe root folder (else $HCP_ROOT, ~/.config/hcp, /etc/hcp)\n", ask("hcp", "__complete", "--ro"))
    assert.equal("--as\tthe command's name (else the pack's `bin`)\n", ask("hcp", "__complete", "link", "--a"))
    assert.equal("", ask("hcp", "__complete", "nonesuch", ""))
    assert.equal("", ask("hcp", "__complete"))
  end)

  it("knows verbs, flags and listed values of a linked command, without control characters", function()
    assert.equal("transfer\tMove money\n", ask("dem", "__complete", "t"))
    assert.equal("--amount\tHow ?[31m much\n", ask("dem", "__complete", "transfer", "--am"))
    assert.equal("--dry_run\n--no-dry_run\n",
      ask("dem", "__complete", "transfer", "--d") .. ask("dem", "__complete", "transfer", "--no"))
    assert.equal("fast\nnot at all\n$(touch $HOME/pwned)\n", ask("dem", "__complete", "transfer", "--speed", ""))
    assert.equal("--kinds=one\n", ask("dem", "__complete", "transfer", "--kinds=o"))
    assert.equal("--confirm\tconsent\n", ask("dem", "__complete", "transfer", "--co"))
    assert.equal("", ask("dem", "__complete", "transfer", "--amount", ""))
    assert.equal("", ask("dem", "__complete", "nonesuch", "--"))
  end)

  it("changes nothing and says nothing where something is wrong", function()
    local fresh = w.dir .. "/fresh"
    assert.equal("demo\tA pack for shells\n", ask("hcp", "__complete", "--state", fresh, "exec", ""))
    assert.is_true(os.execute("[ ! -e " .. quote(fresh) .. " ]"))
    local status, out = world.sh(env .. "hcp __complete --root /nonexistent exec ''")
    assert.equal(0, status)
    assert.equal("", out)
    status, out = w:cli { "completion", "csh" }
    assert.equal(2, status)
    assert.equal("", out)
  end)

  -- What was typed at a shell's prompt, and all that it printed.
  local function typed(shell, start, lines)
    local rc, script = w.dir .. "/rc", w.dir .. "/lines"
    world.write(rc, start)
    world.write(script, lines .. "\nexit")
    local status, out = world.sh(env .. ("TERM=dumb python3 %s %s %s"):format(
      quote(world.source .. "/spec/support/type.py"), quote(script), shell:gsub("RC", rc)))
    assert.equal(0, status, out)
    return out
  end

  local function judge(out)
    assert.is_truthy(out:find('"verb_key":"transfer","result":{"verb":"transfer","args":{"speed":"not at all"}}', 1, true) or
      out:find('"verb_key":"transfer","result":{"args":{"speed":"not at all"},"verb":"transfer"}', 1, true), out)
    assert.is_truthy(out:find('"args":{"kinds":["two"]}', 1, true), out)
    assert.is_truthy(out:find('"verb_key":"report month"', 1, true), out)
    assert.is_truthy(out:find('"args":{"dry_run":true}', 1, true), out)
    assert.is_truthy(out:find('"args":{"speed":"$(touch $HOME/pwned)"}', 1, true), out)
    assert.is_nil(world.read(w.dir .. "/pwned"))
  end

  local lines = table.concat({
    "dem --json tr\t--conf\t--speed no\t",
    "dem --json transfer --confirm --kinds=tw\t",
    "dem --json rep\tm\t",
    "hcp --json exec de\ttransf\tconfirm=true dry_run=tr\t",
    "dem --json transfer --confirm --speed '$'\t",
  }, "\n")

  it("works in bash", function()
    judge(typed("bash --noprofile --rcfile RC -i", 'PS1="READY> "\nsource <(hcp completion bash)\n',
      (lines:gsub("'%$'\t", "\\$\t"))))
  end)

  it("works in zsh", function()
    assert(os.execute("mkdir -p " .. quote(w.dir .. "/z")))
    world.write(w.dir .. "/z/.zshrc", 'autoload -Uz compinit && compinit -u -D\nsource <(hcp completion zsh)\nPS1="READY> "\n')
    judge(typed("env ZDOTDIR=" .. w.dir .. "/z zsh -d -i", "", (lines:gsub("'%$'\t", "\\$\t"))))
  end)

  it("works in fish", function()
    local function complete(line)
      local status, out, err = world.sh(env .. "fish --no-config -c " ..
        quote("hcp completion fish | source; complete -C " .. quote(line)))
      assert.equal(0, status, err)
      return out
    end
    assert.equal("transfer\tMove money\n", complete "dem tr")
    assert.equal("--speed\n", complete "dem transfer --sp")
    assert.is_truthy(complete("dem transfer --speed n"):find("not at all", 1, true))
    assert.equal("--kinds=two\n", complete "dem transfer --kinds=t")
    assert.equal("month\tA month\n", complete "hcp exec demo report m")
    assert.equal("dry_run=true\n", complete "hcp exec demo transfer dry_run=t")
  end)
end)
