-- An audit log in the hands of somebody who may write it: its lines, and lines made anew with hashes that hold.
--   local log = auditlog.of(w)            the log of a world
--   log:lines()                           without their newlines; log:store(lines) keeps the file's inode
--   log.forge(line, prev)                 the line with that `prev` and the hash of its new bytes
--   log:verify()                          what `hcp audit verify` says: verdict, exit status, stderr
local world = require "world"
local cjson = require "cjson"

local quote = world.quote
local log = {}
log.__index = log

function log.of(w)
  return setmetatable({ w = w, dir = w.state .. "/audit" }, log)
end

function log:path(name)
  return self.dir .. "/" .. (name or "audit.jsonl")
end

function log:lines(name)
  local lines = {}
  for line in world.read(self:path(name)):gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  return lines
end

-- In place: the file stays the one that the head knows.
function log:put(text, name)
  assert(os.execute("chmod u+w " .. quote(self:path(name))))
  local f = assert(io.open(self:path(name), "r+b"))
  f:write(text)
  f:close()
  assert(os.execute(("truncate -s %d %s"):format(#text, quote(self:path(name)))))
end

function log:store(lines, name)
  self:put(table.concat(lines, "\n") .. "\n", name)
end

local function sha256(text)
  local status, out = world.sh("sha256sum", text)
  assert(status == 0)
  return out:match("^%x+")
end

function log.hash(line)
  return line:match('"hash":"(%x+)"}$')
end

function log.forge(line, prev)
  local body = line:match('^(.*),"prev":"%x+","hash":"%x+"}$') .. ',"prev":"' .. (prev or line:match('"prev":"(%x+)"')) .. '"'
  return body .. ',"hash":"' .. sha256(body) .. '"}'
end

-- Every line from `from` on follows the one before it.
function log.rechain(lines, from)
  for i = from, #lines do lines[i] = log.forge(lines[i], log.hash(lines[i - 1])) end
end

function log:audit(...)
  return self.w:cli { "audit", ... }
end

function log:verify(...)
  local status, out, err = self:audit("verify", ...)
  local ok, verdict = pcall(cjson.decode, out)
  return ok and verdict or nil, status, err
end

-- The findings, one a line: "damage file:line seq text".
function log:findings(...)
  local verdict, status, err = self:verify(...)
  assert(verdict, err)
  assert(status == (verdict.intact and 0 or 1))
  local list = {}
  for i, f in ipairs(verdict.findings) do
    list[i] = ("%s %s:%d %d %s"):format(f.damage, f.file or "", f.line or 0, f.seq or 0, f.text) .. (f.known and " (known)" or "")
  end
  return list, verdict
end

return log
