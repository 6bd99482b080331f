return function(args) return args end
