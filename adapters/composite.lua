-- Kind `composite`: the command is a Lua function of the pack, in the file that `script` names.

return {
	check = function(command)
		if type(command.script) ~= "string" then
			return false, "a composite command needs a script"
		end
		return true
	end,

	run = function(args, ctx, command)
		return ctx.script(command.script)(args, ctx)
	end,
}
