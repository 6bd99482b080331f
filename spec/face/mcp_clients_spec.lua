-- hcp mcp under the clients of others: the official SDK's and the inspector, of the versions that spec/npm names.
-- tools/packages test installs them.
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"

local quote = world.quote
local npm = os.getenv("HCP_NPM") or world.source .. "/spec/npm"

describe("hcp mcp under", function()
  local w, listed
  setup(function()
    w = demo.world()
    local block = "packs:\n  demo:\n"
    local grants = demo.grants:gsub(block, block .. "    commands: { mark: { confirm: person } }\n")
    w:policy((grants:gsub("user:%*", "*")))
    listed = { "demo.argv", "demo.lua", "demo.mark", "demo.other", "demo.plain" }
  end)
  teardown(function() w:close() end)

  describe("the SDK's client", function()
    local function talk(how)
      local status, out, err = world.sh(("timeout 60 node spec/npm/mcp_client.mjs %s %s %s --root %s --state %s mcp"):format(
        quote(npm), how, quote(world.hcp), quote(w.root), quote(w.state)))
      assert.equal(0, status, err)
      local said = cjson.decode(out)
      assert.same(listed, said.tools)
      assert.equal('["--n=2","--json"]', said.plain.content[1].text)
      assert.is_false(said.plain.isError)
      return said.mark, said.asked
    end
    local refused = { ok = false, pack_id = "demo", verb_key = "mark", error = "confirm required" }

    it("lists, calls and runs what a person accepted", function()
      local mark, asked = talk "accept"
      assert.equal(1, #asked)
      assert.is_false(mark.isError)
      assert.equal('["mark","--json"]', mark.content[1].text)
    end)

    it("refuses what a person declined", function()
      local mark, asked = talk "decline"
      assert.equal(1, #asked)
      assert.is_true(mark.isError)
      assert.same(refused, cjson.decode(mark.content[1].text))
    end)

    it("refuses where it can't ask", function()
      local mark, asked = talk "absent"
      assert.equal(0, #asked)
      assert.is_true(mark.isError)
      assert.same(refused, cjson.decode(mark.content[1].text))
    end)
  end)

  -- the inspector takes these for granted; Node 18 of Debian 12 has them when asked
  local globals = "--experimental-global-customevent --experimental-global-webcrypto"
  for _, era in ipairs { "legacy", "modern" } do
    it("the inspector, " .. era .. ": lists and calls", function()
      local config = w.dir .. "/" .. era .. ".json"
      world.write(config, cjson.encode { mcpServers = { hcp = { type = "stdio", command = world.hcp, protocolEra = era,
        args = { "--root", w.root, "--state", w.state, "mcp" } } } })
      local function inspect(words)
        local status, out, err = world.sh(("HOME=%s MCP_INSPECTOR_SECRET_STORE=memory timeout 60 node %s %s --cli --config %s " ..
          "--server hcp %s"):format(quote(w.dir), globals, quote(npm .. "/node_modules/.bin/mcp-inspector"), quote(config), words))
        return status, out, err
      end
      local status, out, err = inspect "--method tools/list"
      assert.equal(0, status, err)
      local names = {}
      for _, tool in ipairs(cjson.decode(out).tools) do names[#names + 1] = tool.name end
      table.sort(names)
      assert.same(listed, names)
      status, out, err = inspect "--method tools/call --tool-name demo.plain --tool-arg n=2"
      assert.equal(0, status, err)
      local answer = cjson.decode(out)
      assert.equal('["--n=2","--json"]', answer.content[1].text)
      -- a list is structured content in the newer revision alone
      assert.same(era == "modern" and { "--n=2", "--json" } or nil, answer.structuredContent)
      assert.equal(5, (inspect "--method tools/call --tool-name demo.plain --tool-arg n=0"))
    end)
  end
end)
