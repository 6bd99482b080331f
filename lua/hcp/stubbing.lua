-- Kind `composite` in the throw-away root of `hcp pack test` while something is stubbed: a script's `ctx` answers for
-- the commands in `stubs`, a local that hcp.test writes in front of this, and hands on the rest.

local function call(of, verb, args, more)
	local other = type(args) == "string"
	local stub = stubs[other and verb .. "." .. args or verb]
	if not stub then
		return of(verb, args, more)
	end
	return stub(other and more or not other and args or {})
end

local function try(ctx, verb, args, more)
	local other = type(args) == "string"
	if not stubs[other and verb .. "." .. args or verb] then
		return ctx.try(verb, args, more)
	end
	local ok, answer = pcall(call, nil, verb, args, more)
	local envelope = { ok = ok, pack_id = other and verb or ctx.pack_id, verb_key = other and args or verb }
	envelope[ok and "result" or "error"] = answer
	return envelope
end

local function stubbed(ctx)
	local mine = {}
	for name, value in pairs(ctx) do
		mine[name] = value
	end
	mine.exec = function(...)
		return call(ctx.exec, ...)
	end
	mine.try = function(...)
		return try(ctx, ...)
	end
	mine.exec_all = function(calls)
		local results = {}
		for i, one in ipairs(calls) do
			results[i] = call(ctx.exec, table.unpack(one))
		end
		return results
	end
	return mine
end

return {
	check = function(command)
		return type(command.script) == "string"
	end,

	run = function(args, ctx, command)
		return ctx.script(command.script)(args, stubbed(ctx))
	end,
}
