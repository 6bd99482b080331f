-- What is installed works where it is put, is found by programs outside the tree, and goes again.
local world = require "world"
local quote = world.quote

local cache = assert(world.read(world.build .. "/CMakeCache.txt"))
local function cached(name) return cache:match("\n" .. name .. ":%u+=([^\n]*)") end
local sanitizers = cached("HCP_SANITIZE")
local sanitize = sanitizers ~= "" and "-fsanitize=" .. sanitizers or ""

-- Installing writes into the build folder: its owner's alone.
local owner = os.execute("test -w " .. quote(world.build))
local installing = owner and describe or function(what) pending(what .. ": the build folder is somebody else's") end

local function run(line)
  local status, out, err = world.sh(line)
  assert.equal(0, status, line .. "\n" .. out .. err)
  return out
end

installing("an installed tree", function()
  local w, prefix

  setup(function()
    w = world.new()
    run(("umask 002; cmake --install %s --prefix %s/first && mv %s/first %s/moved"):format(quote(world.build), w.dir, w.dir, w.dir))
    prefix = w.dir .. "/moved"
    run(("cp -R %s/share/hcp/packs/hello %s/packs/"):format(prefix, w.root))
    w:policy('grants: [ { principal: "*", capabilities: ["*"] } ]\n')
  end)
  teardown(function() w:close() end)

  local greeted = '{"ok":true,"pack_id":"hello","verb_key":"greet","result":{"greeting":"Hello, world!"}}\n'

  it("has a program that runs what the packs beside it say", function()
    local hcp = ("env -i HOME=%s PATH=/usr/bin:/bin %s/bin/hcp "):format(w.dir, prefix)
    assert.equal("hcp 0.1.0\n", run(hcp .. "--version"))
    assert.matches('"ledger"', run(hcp .. "--json packs"), 1, true)
    run(hcp .. ("--root %s --state %s/s1 activate hello"):format(w.root, w.dir))
    assert.equal(greeted, run(hcp .. ("--root %s --state %s/s1 --json exec hello greet"):format(w.root, w.dir)))
  end)

  it("holds nothing that others may write", function()
    assert.equal("", run(("find %s -mindepth 1 ! -type l -perm /022"):format(prefix)))
  end)

  it("has manuals, completions and a module for Lua", function()
    assert.matches("**hcp**", run(("mandoc -T markdown %s/share/man/man1/hcp.1"):format(prefix)), 1, true)
    local lua = "LD_PRELOAD=%s ASAN_OPTIONS=detect_leaks=0 LUA_CPATH='%s/lib/lua/5.4/?.so' lua5.4 -e 'print(require(\"hcp\").version)'"
    assert.equal("0.1.0\n", run(lua:format(sanitize ~= "" and "$(gcc -print-file-name=libasan.so)" or "", prefix)))
    local bash = ("PATH=%s/bin:$PATH; . %s/share/bash-completion/completions/hcp; complete -p hcp"):format(prefix, prefix)
    assert.matches("-F _hcp hcp", run("bash -c " .. quote(bash)), 1, true)
  end)

  it("gives a program outside the tree the library, by find_package", function()
    run(("cmake -S %s/spec/host/consumer -B %s/c -DCMAKE_PREFIX_PATH=%s -DCMAKE_C_FLAGS=%s && cmake --build %s/c")
      :format(quote(world.source), w.dir, prefix, quote(sanitize), w.dir))
    assert.equal(greeted, run(("%s/c/with-hcp %s %s/s2"):format(w.dir, w.root, w.dir)))
    assert.matches("libhcp.so.0", run(("readelf -d %s/c/with-hcp"):format(w.dir)), 1, true)
  end)

  it("by pkg-config", function()
    run(("export PKG_CONFIG_PATH=%s/lib/pkgconfig; cc %s %s/spec/host/consumer/main.c $(pkg-config --cflags --libs hcp) " ..
      "-Wl,-rpath,%s/lib -o %s/shared"):format(prefix, sanitize, quote(world.source), prefix, w.dir))
    assert.equal(greeted, run(("%s/shared %s %s/s3"):format(w.dir, w.root, w.dir)))
  end)

  for _, by in ipairs { "pkg-config", "find_package" } do
    it("inside the program, by " .. by, function()
      local own = w.dir .. "/static-" .. by
      if by == "pkg-config" then
        run(("export PKG_CONFIG_PATH=%s/lib/pkgconfig; cc %s %s/spec/host/consumer/main.c $(pkg-config --cflags --libs hcp-static) -o %s")
          :format(prefix, sanitize, quote(world.source), own))
      else
        run(("cmake -S %s/spec/host/consumer -B %s/d -DCMAKE_PREFIX_PATH=%s -DCMAKE_C_FLAGS=%s && cmake --build %s/d && " ..
          "cp %s/d/with-static %s")
          :format(quote(world.source), w.dir, prefix, quote(sanitize), w.dir, w.dir, own))
      end
      assert.not_matches("libhcp", run("readelf -d " .. own), 1, true)
      run(("cp %s %s/bin/consumer"):format(own, prefix))
      assert.equal(greeted, run(("%s/bin/consumer %s %s/s4"):format(prefix, w.root, w.dir)))
      -- and names what it misses where hcp's files are neither near it nor where they were configured to be
      if not os.execute("test -e " .. quote(cached("CMAKE_INSTALL_PREFIX") .. "/share/hcp")) then
        local status, out = world.sh(("%s %s %s/s5"):format(own, w.root, w.dir))
        assert.equal(126, status, out)
        assert.matches('"error":"denied: auth: [^"]*No such file or directory"', out)
      end
    end)
  end

  it("keeps the names of libhcp.a to the public ones", function()
    for name in run(("nm --defined-only -g %s/lib/libhcp.a"):format(prefix)):gmatch("%x+ %u (%S+)") do
      assert.matches("^hcp_", name)
    end
  end)

  it("goes as it came, and leaves what isn't its own", function()
    run(("cmake --install %s --prefix %s/third && echo mine >%s/third/share/hcp/packs/mine"):format(quote(world.build), w.dir, w.dir))
    run(("cmake -D MANIFEST=%s/install_manifest.txt -P %s/packaging/uninstall.cmake"):format(quote(world.build), quote(world.source)))
    assert.equal(w.dir .. "/third/share/hcp/packs/mine\n", run(("find %s/third -type f"):format(w.dir)))
  end)

  it("comes as a Debian package", function()
    run(("mkdir %s/deb && cd %s/deb && cpack --config %s/CPackConfig.cmake >/dev/null"):format(w.dir, w.dir, quote(world.build)))
    local deb = run(("ls %s/deb/*.deb"):format(w.dir)):gsub("\n", "")
    local about = run("dpkg-deb --info " .. deb)
    assert.matches("Package: hcp\n", about, 1, true)
    assert.matches("Depends: [^\n]*liblua5.4%-0[^\n]*libseccomp2", about)
    run(("dpkg-deb -x %s %s/x"):format(deb, w.dir))
    assert.equal("hcp 0.1.0\n", run(w.dir .. "/x" .. cached("CMAKE_INSTALL_PREFIX") .. "/bin/hcp --version"))
  end)
end)
