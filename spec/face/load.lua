-- For wrk: envelopes that are allowed, denied or malformed, and what is no envelope at all. An answer says by its id which
-- request it is of, and must be exactly that request's.
local n, wrong, right, first = 0, 0, {}, nil
local envelope = '{"pack_id":"probe","verb_key":"%s","args":{"script":"echo %d"},"id":"%s%d"}'

local function post(body, token, kind)
  return wrk.format("POST", "/exec", { ["Content-Type"] = kind or "application/json", Host = "localhost",
    Authorization = "Bearer token-of-" .. token }, body)
end

local kinds = {
  function() return post(envelope:format("run", n, "allowed", n), "a") end,
  function() return post(envelope:format("run", n, "denied", n), "b") end,
  function() return post(envelope:format("none", n, "unknown", n), "a") end,
  function() return post('{"pack_id":', "a") end,
  function() return post("x=1", "a", "text/plain") end,
  function() return wrk.format("GET", "/healthz", { Host = "evil.example" }) end,
  function() return wrk.format("GET", "/packs", { Host = "localhost", Authorization = "Bearer token-of-b" }) end,
}

function request()
  n = n + 1
  return kinds[n % #kinds + 1]()
end

local none = '{"ok":false,"pack_id":"","verb_key":"","error":"%s"}'
local plain = {
  [200 .. none:format("invalid envelope: it ends too early at byte 11")] = "malformed",
  [415 .. none:format("Content-Type must be application/json")] = "type",
  [403 .. none:format("this server has another name: Host")] = "host",
  ['200{"packs":[]}'] = "packs",
}
local by_id = {
  allowed = '{"ok":true,"pack_id":"probe","verb_key":"run","result":"%d\\n","id":"allowed%d"}',
  denied = '{"ok":false,"pack_id":"probe","verb_key":"run","error":"denied: missing probe.run for probe.run","id":"denied%d"}',
  unknown = '{"ok":false,"pack_id":"probe","verb_key":"none","error":"no policy for none","id":"unknown%d"}',
}

local function kind_of(status, body)
  local kind, id = body:match('"id":"(%a+)(%d+)"}$')
  if kind and by_id[kind] and status == 200 and body == by_id[kind]:format(id, id) then return kind end
  return plain[status .. body]
end

function response(status, _, body)
  local kind = kind_of(status, body)
  if kind then
    right[kind] = (right[kind] or 0) + 1
  else
    wrong = wrong + 1
    first = first or status .. body
  end
  wrk.thread:set("told", ("%d %s %s %s %s %s %s %s %s"):format(wrong, first or "-", right.allowed or 0, right.denied or 0,
    right.unknown or 0, right.malformed or 0, right.type or 0, right.host or 0, right.packs or 0))
end

local threads = {}
function setup(thread) threads[#threads + 1] = thread end

function done(summary)
  for _, thread in ipairs(threads) do print("told " .. (thread:get("told") or "nothing")) end
  local e = summary.errors
  print(("errors %d %d %d %d"):format(e.connect, e.read, e.write, e.timeout))
end
