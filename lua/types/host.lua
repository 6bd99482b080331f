---@meta hcp
-- require "hcp" in a program that embeds hcp, for the Lua language server. Scripts of packs don't have it.

---@class hcp.Module
---@field null hcp.Null JSON's null, the light userdata NULL
---@field version string
local hcp = {}
---A runtime of a root and a state folder; without them $HCP_ROOT, $HCP_STATE and the defaults count.
---@param options? { root?: string, state?: string }
---@return hcp.Runtime? runtime
---@return string? message
function hcp.open(options) end
---Marks a table as a list, also an empty one; a new one without `t`.
---@param t? table
---@return table
function hcp.array(t) end

---An exec envelope.
---@class hcp.Request
---@field pack_id string
---@field verb_key string
---@field args? table

---What the host says of who asks.
---@class hcp.CallOptions
---@field session? string
---@field tenant? string
---@field project? string
---@field token? string
---@field principal? hcp.Principal | string who the host found it to be, where the policy has `auth: { provider: host }`
---@field deadline_ms? integer of the whole run

---@class hcp.ExplainOptions: hcp.CallOptions
---@field suppose? { principal?: hcp.Principal | string, activated?: boolean } for the root folder's owner alone

---@class hcp.Info
---@field ok boolean
---@field step integer the step that refused or failed, 9 where it is ok
---@field exit integer the exit status of the command line
---@field error string "" where it is ok
---@field run_id string

---@class hcp.Runtime
local Runtime = {}
---Runs one envelope. A table is answered by a table, JSON text by JSON text. Where the result is more than Lua
---holds: nil, why, and the result envelope as text.
---@param envelope hcp.Request
---@param options? hcp.CallOptions
---@return hcp.Envelope? answer
---@return hcp.Info | string info the message where there is no answer
---@return string? json
---@overload fun(self: hcp.Runtime, envelope: string, options?: hcp.CallOptions): string?, hcp.Info | string
function Runtime:exec(envelope, options) end
---Why exec would end as it would, without doing anything.
---@param envelope hcp.Request | string
---@param options? hcp.ExplainOptions
---@return table | string | nil explanation
---@return string? message
function Runtime:explain(envelope, options) end
---The packs, or one pack with its commands and their schemas.
---@param pack? string
---@param options? hcp.CallOptions
---@return table? description
---@return string? message
function Runtime:describe(pack, options) end
---The activated packs with the commands that this caller may run.
---@param options? hcp.CallOptions
---@return table? packs
---@return string? message
function Runtime:permitted(options) end
---@param options? hcp.CallOptions
---@return { session: string, packs: string[] }? session
---@return string? message
function Runtime:session(options) end
---@param pack string
---@param options? hcp.CallOptions
---@return true? done
---@return string? message
function Runtime:activate(pack, options) end
---@param pack string
---@param options? hcp.CallOptions
---@return true? done
---@return string? message
function Runtime:deactivate(pack, options) end
---Whether settings and policy load; the message is what every run is refused with.
---@return true? done
---@return string? message
function Runtime:check() end
---Reads settings and policy again.
---@return true? done
---@return string? message
function Runtime:reload() end
---The same, where a file has changed.
---@return true? done
---@return string? message
function Runtime:refresh() end
---Also at the end of a `local runtime <close>`.
function Runtime:close() end

return hcp
