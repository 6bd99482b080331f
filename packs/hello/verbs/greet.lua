return function(args, ctx)
  return { greeting = "Hello, " .. args.name .. "!" }
end
