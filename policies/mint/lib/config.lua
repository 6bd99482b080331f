-- What the operator's `with` may hold: `known` gives each key's type, with "?" where it may be left out. A key that is
-- misspelt would be a restriction that silently isn't there, so every one must be known.

return function(config, known)
	if not config then
		hcp.fail("the policy says nothing in mint.with")
	end
	for key, value in pairs(config) do
		local want = known[key]
		if not want then
			hcp.fail(("mint.with: unknown key %q"):format(key))
		elseif type(value) ~= want:gsub("%?", "") then
			hcp.fail(("mint.with: %s must be a %s"):format(key, (want:gsub("%?", ""))))
		end
	end
	local missing = {}
	for key, want in pairs(known) do
		if config[key] == nil and want:sub(-1) ~= "?" then
			missing[#missing + 1] = key
		end
	end
	if #missing > 0 then
		table.sort(missing)
		hcp.fail("mint.with: missing " .. table.concat(missing, ", "))
	end
	return config
end
