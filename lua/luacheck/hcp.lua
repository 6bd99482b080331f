-- A luacheck std: the globals of hcp's scripts and nothing else. In a .luacheckrc:
--   stds.hcp = dofile "/usr/share/hcp/lua/luacheck/hcp.lua"
--   std = "hcp"

local function fields(names)
  local out = {}
  for name in names:gmatch("%S+") do out[name] = {} end
  return { fields = out }
end

local read_globals = {
  string = fields "byte char find format gmatch gsub len lower match pack packsize rep reverse sub unpack upper",
  table = fields "concat insert move pack remove sort unpack",
  math = fields [[abs acos asin atan ceil cos deg exp floor fmod huge log max maxinteger min mininteger modf pi rad
    random sin sqrt tan tointeger type ult]],
  utf8 = fields "char charpattern codepoint codes len offset",
  os = fields "clock date difftime time",
  cjson = fields "decode empty_array encode null",
  hcp = fields "array fail null object version",
}
read_globals.hcp.fields.json = read_globals.cjson
read_globals.hcp.fields.log = fields "debug info warn"
for name in ([[_VERSION assert error ipairs next pairs pcall print rawequal rawget rawlen rawset require select
  tonumber tostring type xpcall]]):gmatch("%S+") do
  read_globals[name] = {}
end

return { read_globals = read_globals }
