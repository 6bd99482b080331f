return function(_, ctx)
  for _ = 1, 10 do ctx.exec("tiny", {}) end
  return true
end
