std = "lua54"
max_line_length = 120
files["spec/"] = { std = "+busted" }
files["packs/"] = { ignore = { "212" } }
files["adapters/"] = { ignore = { "212" } }
files["policies/"] = { ignore = { "212" } }
files["spec"].max_line_length = 140
