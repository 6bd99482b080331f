stds.hcp = dofile "lua/luacheck/hcp.lua"
std = "lua54"
max_line_length = 120
files["lua/types/"] = { ignore = { "111", "112", "113", "121", "122", "142", "143", "212", "241" } }
files["lua/hcp/stubbing.lua"] = { std = "hcp", read_globals = { "stubs" } }
files["spec/"] = { std = "+busted" }
files["packs/"] = { std = "hcp", ignore = { "212" } }
files["packs/*/spec/"] = { std = "lua54+busted" }
files["adapters/"] = { std = "hcp", ignore = { "212" } }
files["policies/"] = { std = "hcp", ignore = { "212" } }
files["spec"].max_line_length = 140
