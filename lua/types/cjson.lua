---@meta cjson
-- The JSON of scripts: the names of lua-cjson, exact values.

---@class cjson
---@field null hcp.Null
---@field empty_array table
cjson = {}
---Integers stay exact; holes, circles, NaN, infinities and functions are errors with their path.
---@param value hcp.Json
---@return string
function cjson.encode(value) end
---@param text string
---@return hcp.Json
function cjson.decode(text) end

return cjson
