-- The sqlite pack on the real sqlite3: values to the last digit, reading that can't write, changes that are whole.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

describe("sqlite", function()
  local w, data

  setup(function()
    w = world.new()
    data = w.dir .. "/data"
    w:ship("sqlite")
    assert(os.execute("mkdir -m 777 " .. quote(data)))
    w:policy(([[
grants: [ { principal: "*", capabilities: ["sqlite.*"] } ]
packs:
  sqlite:
    bins: [sqlite3]
    exec: []
    workspaces: { data: { path: "%s", write: true } }
]]):format(data))
    w:activate("sqlite")
  end)
  teardown(function() w:close() end)

  local function make(name, sql)
    local path = data .. "/" .. name
    local status, _, err = world.sh("sqlite3 " .. quote(path), sql)
    assert.same({ 0, "" }, { status, err })
    assert(os.execute("chmod 666 " .. quote(path)))
  end

  local function run(verb, args)
    local envelope, _, stderr, text = w:exec("sqlite", verb, args)
    assert.is_true(envelope.ok, (envelope.error or "") .. stderr)
    return envelope.result, text
  end

  local function refused(verb, args)
    local envelope = w:exec("sqlite", verb, args)
    assert.is_false(envelope.ok)
    return envelope.error
  end

  it("tells values to the last digit", function()
    make("v.db", [[CREATE TABLE t(v);
INSERT INTO t VALUES (9223372036854775807), (-9223372036854775808), (9007199254740993), (0.1), (1e300), (9e999), (-9e999),
  (NULL), (x'00ff'), (''), ('it''s "q"'), ('a
b'), ('é,NULL'), ('X''00''');]])
    local _, text = run("query", { db = "v.db", sql = "SELECT v FROM t" })
    local rows = '[[9223372036854775807],[-9223372036854775808],[9007199254740993],[0.1],[1e+300],["Infinity"],' ..
      '["-Infinity"],[null],[{"blob":"00ff"}],[""],["it\'s \\"q\\""],["a\\nb"],["é,NULL"],["X\'00\'"]]'
    assert.is_truthy(text:find('"rows":' .. rows, 1, true), text)
    _, text = run("query", { db = "v.db", sql = "SELECT v FROM t WHERE 0" })
    assert.is_truthy(text:find('"result":{"columns":[],"more":false,"rows":[]}', 1, true), text)
    local odd = run("query", { db = "v.db", sql = 'SELECT 1 AS a, 2 AS a, 3 AS "we""ird\nname"' })
    assert.same({ { "a", "a:1", 'we"ird\nname' }, { { 1, 2, 3 } } }, { odd.columns, odd.rows })
  end)

  it("describes tables, and takes odd names as names", function()
    make("s.db", [[CREATE TABLE "or'ders; --"(id INTEGER PRIMARY KEY, total NOT NULL DEFAULT 0, shop REFERENCES shops(id));
CREATE TABLE shops(id PRIMARY KEY) WITHOUT ROWID; CREATE UNIQUE INDEX i ON "or'ders; --"(total, shop);
CREATE VIEW v AS SELECT 1 AS one;]])
    assert.same({ { name = "or'ders; --", type = "table" }, { name = "shops", type = "table" }, { name = "v", type = "view" } },
      run("tables", { db = "s.db" }).tables)
    local t = run("schema", { db = "s.db", table = "or'ders; --" }).tables
    local id, total = t[1].columns[1], t[1].columns[2]
    assert.same({ 1, "id", true, "total", true, "0" }, { #t, id.name, id.key, total.name, total.required, total.default })
    assert.same({ { name = "i", unique = true, columns = "total, shop" } }, t[1].indexes)
    assert.same({ { column = "shop", table = "shops", to = "id" } }, t[1].foreign_keys)
    assert.equal(3, #run("schema", { db = "s.db" }).tables)
    assert.equal("no table ' OR 1 --", refused("schema", { db = "s.db", table = "' OR 1 --" }))
  end)

  it("queries one statement, whatever it tries", function()
    make("q.db", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3);")
    local one = "sql: one SELECT, VALUES or WITH … SELECT is needed"
    for sql, why in pairs {
      ["DELETE FROM t"] = one, ["SELECT 1; DELETE FROM t"] = one, ["PRAGMA user_version = 7"] = one, [".shell id"] = one,
      ["EXPLAIN SELECT 1"] = one, ["ATTACH 'x.db' AS x"] = one, ["-- nothing"] = one, ["-cmd"] = one,
      ["SELECT 1) ; DELETE FROM t; SELECT (1"] = "sql: parentheses don't match",
      ["SELECT 1) UNION SELECT (1"] = "sql: parentheses don't match",
      ["SELECT (1"] = "sql: parentheses don't match",
      ["SELECT '"] = "sql: a quote or comment isn't closed", ["SELECT 1 /*"] = "sql: a quote or comment isn't closed",
    } do
      assert.equal(why, refused("query", { db = "q.db", sql = sql }), sql)
    end
    for _, sql in ipairs { "SELECT writefile('/workspace/pwned', 'x')", "SELECT load_extension('x')",
      "SELECT readfile('/etc/passwd')", "SELECT edit('x', 'sh')", "WITH x AS (SELECT 1) DELETE FROM t", "SELECT * FROM nope" } do
      refused("query", { db = "q.db", sql = sql })
    end
    local commented = "WITH x AS (SELECT ')' AS c, * FROM t) SELECT count(*) FROM x -- end;"
    assert.same({ { 3 } }, run("query", { db = "q.db", sql = commented }).rows)
    assert.same({ { 3 } }, run("query", { db = "q.db", sql = "SELECT max(a) FROM t ;; " }).rows)
    for _, db in ipairs { "../q.db", "/etc/passwd", "a/../../x", "-init", "nope.db" } do
      refused("query", { db = db, sql = "SELECT 1" })
    end
    assert.is_nil(world.read(data .. "/pwned"))
    assert.is_nil(world.read(data .. "/nope.db"))
  end)

  it("changes all or nothing, with consent", function()
    make("x.db", "CREATE TABLE t(a); CREATE TABLE c(t REFERENCES p(id)); CREATE TABLE p(id PRIMARY KEY);")
    local function count() return run("query", { db = "x.db", sql = "SELECT count(*) FROM t" }).rows[1][1] end
    assert.equal("confirm required", refused("execute", { db = "x.db", sql = "DELETE FROM t" }))
    assert.same({ changes = 3 }, run("execute", { db = "x.db", confirm = true,
      sql = "INSERT INTO t VALUES (';'), ('--'); INSERT INTO t VALUES (3); SELECT 'printed';" }))
    refused("execute", { db = "x.db", sql = "INSERT INTO t VALUES (4); INSERT INTO nope VALUES (1)", confirm = true })
    refused("execute", { db = "x.db", sql = "INSERT INTO t VALUES (4); INSERT INTO c VALUES (1)", confirm = true })
    for _, word in ipairs { "COMMIT", "END", "ROLLBACK", "BEGIN", "VACUUM", "PRAGMA", "ATTACH", "SAVEPOINT" } do
      assert.equal("sql: " .. word .. " can't stand here: all runs in one transaction",
        refused("execute", { db = "x.db", sql = "INSERT INTO t VALUES (4); /* */ " .. word:lower() .. " x", confirm = true }))
    end
    assert.equal(3, count())
    run("execute", { db = "x.db", confirm = true, sql = "CREATE TRIGGER g AFTER INSERT ON t WHEN new.a = 5 BEGIN " ..
      "INSERT INTO t SELECT CASE WHEN 1 THEN 6 END; INSERT INTO t VALUES (7); END; INSERT INTO t VALUES (5)" })
    assert.equal(6, count())
    -- a file that sqlite3 would read from its home
    world.write(data .. "/.sqliterc", ".output /workspace/pwned\n", "644")
    assert.equal(6, count())
    assert.is_nil(world.read(data .. "/pwned"))
    run("execute", { db = "made.db", sql = "CREATE TABLE n(a)", confirm = true })
    assert.equal("n", run("tables", { db = "made.db" }).tables[1].name)
  end)

  it("pages through a million rows", function()
    make("m.db", "CREATE TABLE m(id INTEGER PRIMARY KEY, name TEXT, v REAL);" ..
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) " ..
      "INSERT INTO m SELECT i, 'name ' || i, i / 8.0 FROM n;")
    local page = run("query", { db = "m.db", sql = "SELECT * FROM m ORDER BY id", limit = 10000, offset = 989999 })
    assert.same({ 10000, true, { 990000, "name 990000", 123750 }, { 999999, "name 999999", 124999.875 } },
      { #page.rows, page.more, page.rows[1], page.rows[10000] })
    page = run("query", { db = "m.db", sql = "SELECT * FROM m ORDER BY id", limit = 10000, offset = 990000 })
    assert.same({ 10000, false, 1000000 }, { #page.rows, page.more, page.rows[10000][1] })
    assert.same({ { 1000000, 500000500000, cjson.null } },
      run("query", { db = "m.db", sql = "SELECT count(*), sum(id), max(NULL) FROM m" }).rows)
  end)
end)
