// SPDX-License-Identifier: MIT
// The official SDK's client against `hcp mcp`: lists, calls demo.plain, and demo.mark, for which a person is asked.
// node mcp_client.mjs FOLDER accept|decline|absent PROGRAM WORDS...: one JSON object on stdout.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, how, command, ...args] = process.argv.slice(2);
const require = createRequire(pathToFileURL(folder + "/"));
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + name)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ElicitRequestSchema } = await load("types.js");

const asked = [];
const client = new Client({ name: "spec", version: "1" }, { capabilities: how === "absent" ? {} : { elicitation: {} } });
if (how !== "absent")
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    asked.push(request.params.message);
    return how === "accept" ? { action: "accept", content: {} } : { action: "decline" };
  });
await client.connect(new StdioClientTransport({ command, args }));
const { tools } = await client.listTools();
const plain = await client.callTool({ name: "demo.plain", arguments: { n: 2 } });
const mark = await client.callTool({ name: "demo.mark", arguments: { confirm: true } });
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => t.name).sort(), plain, mark, asked }));
