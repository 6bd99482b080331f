-- hcp exec --progress: what a program writes to stderr, while it runs.
local world = require "world"

local quote = world.quote

describe("--progress", function()
  local w
  setup(function()
    w = world.new()
    w:shell "sandbox: { tier: strong }"
    w:activate "probe"
  end)
  teardown(function() w:close() end)

  local function run(...)
    return w:cli { "exec", "probe", "run", ... }
  end
  local function words(script) return "script=" .. script end

  it("tells stderr line by line, and leaves the envelope as it is", function()
    local script = [[printf 'one\ntwo\r\n\nlast' >&2; echo out]]
    local plain_status, plain, plain_err = run("--", words(script))
    local status, out, err = run("--progress", "--", words(script))
    assert.equal(0, plain_status)
    assert.equal(0, status)
    assert.equal(plain, out)
    assert.equal("", plain_err)
    assert.equal("one\ntwo\nlast\n", err)
  end)

  it("shows nothing that a terminal would obey, and no endless line", function()
    local _, _, err = run("--progress", "--", words [[printf '\033]0;x\007\302\233m \377\n' >&2]])
    assert.equal("?]0;x??m \u{FFFD}\n", err)
    _, _, err = run("--progress", "--", words [[head -c 16384 /dev/zero | tr '\0' a >&2; echo >&2]])
    assert.equal(("a"):rep(16384) .. "\n", err)
    _, _, err = run("--progress", "--", words [[head -c 16385 /dev/zero | tr '\0' a >&2; echo >&2; echo b >&2]])
    assert.equal("[a line of more than 16384 bytes]\nb\n", err)
  end)

  it("takes secrets out, also one that came in two writes", function()
    world.write(w.dir .. "/token", "s3cret-token-0\n", "600")
    local _, _, err = run("--token-file", w.dir .. "/token", "--progress", "--",
      words "printf 'a s3cret-' >&2; sleep 0.1; printf 'token-0 b\\n' >&2; printf s3cret-token-0 >&2")
    assert.equal("a [redacted] b\n[redacted]\n", err)
  end)

  -- the program waits for the terminal's reader to cancel it, which only a line that came at once lets happen
  it("tells while the program runs, and an interrupt cancels", function()
    local fifo = w.dir .. "/fifo"
    assert(os.execute("mkfifo " .. quote(fifo)))
    local status, out, err = world.sh(([[
      %s --root %s --state %s exec probe run --progress -- 'script=echo ready >&2; sleep 600' 2>%s & pid=$!
      grep -m 1 -v '^==' <%s >&2
      kill -INT $pid; wait $pid]]):format(quote(world.hcp), quote(w.root), quote(w.state), quote(fifo), quote(fifo)))
    assert.equal("ready\n", err)
    assert.equal(130, status)
    assert.is_truthy(out:find('"error":"sandbox: cancelled"', 1, true), out)
  end)

  it("shows the time on a terminal", function()
    local script = w.dir .. "/lines"
    world.write(script, "")
    local status, out = world.sh(("python3 %s %s %s --root %s --state %s exec probe run --json --progress -- %s"):format(
      quote(world.source .. "/spec/support/type.py"), quote(script), quote(world.hcp), quote(w.root), quote(w.state),
      quote(words "echo working >&2")))
    assert.equal(0, status)
    assert.is_truthy(out:find("\r\27[K0s ", 1, true), out)
    assert.is_truthy(out:find("\r\27[Kworking\r\n", 1, true), out)
    assert.is_truthy(out:find('\r\27[K{"ok":true', 1, true), out)
  end)
end)
