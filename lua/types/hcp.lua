---@meta _
-- What a script of hcp can reach, for the Lua language server. The rest is Lua 5.4's own, less what docs/lua.md takes
-- away.

---JSON's null. `nil` in a table is nothing at all.
---@class hcp.Null: lightuserdata

---A secret that a script can hold and not read: no text, no length, no fields, no comparison. Functions of `host` take
---it wherever they take a string.
---@class hcp.Handle: userdata

---@alias hcp.Bytes string | number | hcp.Handle
---@alias hcp.Json nil | boolean | number | string | table | hcp.Null

---@class hcp
---@field null hcp.Null
---@field version string
---@field json cjson
---@field log hcp.Log
hcp = {}
---Marks a table as a list, also an empty one; a new one without `t`.
---@param t? table
---@return table
function hcp.array(t) end
---Marks a table as an object, also an empty one; a new one without `t`.
---@param t? table
---@return table
function hcp.object(t) end
---Ends the script; `message` is the error, word by word, up to 64 KiB.
---@param message string
---@return never
function hcp.fail(message) end

---Lines for the operator's log (`hcp -v`).
---@class hcp.Log
hcp.log = {}
function hcp.log.debug(...) end
function hcp.log.info(...) end
function hcp.log.warn(...) end

---@class hcp.Principal
---@field id string
---@field tenant? string where it acts if nothing is asked
---@field tenants? string[]
---@field project_id? string
---@field projects? string[]
---@field roles? string[]
---@field claims? table anything; guards see it
---@field expires_at? number seconds since 1970

---@class hcp.Envelope
---@field ok boolean
---@field pack_id string
---@field verb_key string
---@field result? hcp.Json
---@field error? string
---@field stdout? string
---@field stderr? string

---The second argument of a composite, `function(args, ctx)`, and of an adapter's `run`.
---@class hcp.Ctx
---@field pack_id string
---@field verb_key string
---@field principal { id: string, tenant: string, project_id?: string }
---@field session string
---@field confirmed boolean whether this call was
---@field mode "real" | "mock"
---@field binding? { mode: "real" | "mock", env: table<string, hcp.Handle> } what the mint hook made
---@field deadline number seconds since 1970
local ctx = {}
---Runs another command, through all nine steps and for the same caller; its error is raised.
---@param verb_key string
---@param args? table
---@return hcp.Json
---@overload fun(pack_id: string, verb_key: string, args?: table): hcp.Json
function ctx.exec(verb_key, args) end
---The same, but gives the result envelope.
---@param verb_key string
---@param args? table
---@return hcp.Envelope
---@overload fun(pack_id: string, verb_key: string, args?: table): hcp.Envelope
function ctx.try(verb_key, args) end
---Runs several side by side: `ctx.exec_all{ { "balance", {} }, { "transit", "plan", {} } }`. Results in order; the
---first error is raised.
---@param calls table[]
---@return hcp.Json[]
function ctx.exec_all(calls) end

---What an adapter's `ctx` has besides.
---@class hcp.AdapterCtx: hcp.Ctx
local adapter_ctx = {}
---The function that a script of the pack returns.
---@param path string
---@return fun(args: table, ctx: hcp.Ctx): hcp.Json
function adapter_ctx.script(path) end
---@param x hcp.Bytes
---@return string | hcp.Handle
function adapter_ctx.base64(x) end
---@param x hcp.Bytes
---@return string | hcp.Handle
function adapter_ctx.base64url(x) end
---@param x hcp.Bytes
---@return string | hcp.Handle
function adapter_ctx.hex(x) end
---@param x hcp.Bytes
---@return string | hcp.Handle
function adapter_ctx.uri(x) end
---To the hosts of `packs.<id>.http` of the policy.
---@param request hcp.HttpRequest
---@return hcp.HttpAnswer
function adapter_ctx.http(request) end
---@param ... hcp.Bytes
---@return string | hcp.Handle
function adapter_ctx.concat(...) end

---A command as an adapter sees it; under the kind's own name stands the mapping of that name.
---@class hcp.Command
---@field verb_key string
---@field kind string
---@field summary string
---@field script? string
---@field args? table the schema of its arguments

---What `adapters/<kind>.lua` returns.
---@class hcp.Adapter
---@field check? fun(command: hcp.Command): boolean, string?
---@field run fun(args: table, ctx: hcp.AdapterCtx, command: hcp.Command): hcp.Json

---What a provider is asked: `function(request, host)` gives a principal, or nil and a reason.
---@class hcp.AuthRequest
---@field face "cli" | "stdio" | "socket" | "http" | "mcp" | "library"
---@field pack_id string
---@field verb_key string
---@field peer? { uid: integer, gid: integer, pid: integer, user?: string }
---@field tenant? string
---@field project_id? string

---What a guard is asked: `function(request)` gives true, or false and a reason.
---@class hcp.GuardRequest
---@field face string
---@field pack_id string
---@field verb_key string
---@field tenant string
---@field project_id? string
---@field principal hcp.Principal
---@field args table
---@field confirmed boolean

---The second argument of a provider.
---@class hcp.Host
---@field config? table `with:` of the operator's policy
local host = {}
---One of the secrets that the policy lists for this script.
---@param name string
---@return hcp.Handle
function host.secret(name) end
---@param x hcp.Bytes
---@return string | hcp.Handle
function host.base64(x) end
---Without padding.
---@param x hcp.Bytes
---@return string | hcp.Handle
function host.base64url(x) end
---@param x hcp.Bytes
---@return string | hcp.Handle
function host.hex(x) end
---Percent-encodes all but `A-Z a-z 0-9 - . _ ~`.
---@param x hcp.Bytes
---@return string | hcp.Handle
function host.uri(x) end
---@param ... hcp.Bytes
---@return string | hcp.Handle
function host.concat(...) end
---32 bytes.
---@param x hcp.Bytes
---@return string | hcp.Handle
function host.sha256(x) end
---32 bytes; a string where only the key is a handle, unless `"handle"` is asked for.
---@param key hcp.Bytes
---@param data hcp.Bytes
---@param kind? "string" | "handle"
---@return string | hcp.Handle
function host.hmac_sha256(key, data, kind) end
---Takes the same time wherever the two differ.
---@param a hcp.Bytes
---@param b hcp.Bytes
---@return boolean
function host.equal(a, b) end
---@param n integer 1 to 1024 bytes
---@return string
function host.random(n) end
---@param hash hcp.Bytes an Argon2 hash, `$argon2id$…`
---@param text hcp.Bytes
---@return boolean
function host.verify_password(hash, text) end
---@class hcp.HttpRequest
---@field url hcp.Bytes
---@field method? string
---@field headers? table<string, hcp.Bytes>
---@field query? table<string, hcp.Bytes | number | boolean>
---@field form? table<string, hcp.Bytes | number | boolean>
---@field json? any
---@field body? hcp.Bytes
---@field timeout? number seconds, at most 10; of an adapter, at most the command's
---@field secrets? string[] strings of the JSON answer that become handles
---@class hcp.HttpAnswer
---@field status integer
---@field headers table<string, string>
---@field body? string
---@field json? any
---@param request hcp.HttpRequest
---@return hcp.HttpAnswer
function host.http(request) end
---@param url string
---@param again? boolean where the set that was given lacks a key
---@return table
function host.jwks(url, again) end
---@class hcp.TokenDemand
---@field token hcp.Bytes
---@field jwks? table a key set; or
---@field key? hcp.Bytes a public key
---@field algs string[] of RS256, ES256, EdDSA
---@field audience string | string[] one of them must be named
---@field issuer string
---@field leeway? integer seconds
---@param what hcp.TokenDemand
---@return table? claims
---@return string? why
function host.verify_jwt(what) end
---@param what { alg: string, key: hcp.Bytes, claims: table, header?: table }
---@return hcp.Handle
function host.sign_jwt(what) end
---@param what { alg: string, key: hcp.Bytes, data: hcp.Bytes }
---@return string
function host.sign(what) end
---@return integer seconds since 1970
function host.now() end
---@param t number seconds since 1970
---@return string `2024-02-29T23:59:59Z`
function host.iso8601(t) end
---@param text string RFC 3339
---@return number seconds since 1970; a float where there is a fraction
function host.parse_time(text) end

---What a mint hook is asked.
---@class hcp.MintRequest
---@field pack_id string
---@field verb_key string
---@field principal hcp.Principal
---@field tenant string
---@field project_id? string
---@field ttl number seconds that a Binding may be good at most

---What it answers: one of `expires_in` and `expires_at`.
---@class hcp.Binding
---@field env table<string, hcp.Bytes> exactly the names of the manifest
---@field expires_in? number seconds
---@field expires_at? number | string seconds since 1970, or RFC 3339
---@field id? string for the audit record

return hcp
