// SPDX-License-Identifier: MIT
// `hcp mcp` for clients that speak HTTP alone, as the conformance suite does: node mcp_bridge.mjs PORT PROGRAM WORDS...
// A process a session; requests without one share a process. Ids are numbered anew, since clients choose theirs alone, and
// "fixture." is taken off tools' names. Nothing else is changed.
import { createServer } from "node:http";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { randomUUID } from "node:crypto";

const [port, program, ...words] = process.argv.slice(2);
const children = new Map();
let next = 0;

function start() {
  const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method) {
      // a notification belongs to the request whose token it has
      const token = message.params?.progressToken;
      for (const w of waiting.values()) if (token === undefined || w.token === token) w.note(message);
      return;
    }
    const w = waiting.get(message.id);
    waiting.delete(message.id);
    for (const tool of message.result?.tools ?? []) tool.name = tool.name.replace(/^fixture\./, "");
    w?.done({ ...message, id: w.id });
  });
  return { child, waiting };
}

createServer((req, res) => {
  let text = "";
  req.on("data", (part) => (text += part));
  req.on("end", () => {
    let id = req.headers["mcp-session-id"] ?? "";
    if (req.method !== "POST") return res.writeHead(405).end();
    const message = JSON.parse(text);
    if (message.method === "initialize") id = randomUUID();
    if (!children.has(id)) children.set(id, start());
    const { child, waiting } = children.get(id);
    if (message.method === "tools/call") message.params.name = "fixture." + message.params.name;
    if (message.id === undefined || !message.method) {
      child.stdin.write(JSON.stringify(message) + "\n");
      return res.writeHead(202).end();
    }
    const headers = id ? { "mcp-session-id": id } : {}, number = ++next, notes = [];
    waiting.set(number, {
      id: message.id, token: message.params?._meta?.progressToken,
      note: (n) => notes.push(n),
      done: (answer) => {
        if (!notes.length) return res.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(answer));
        res.writeHead(200, { "content-type": "text/event-stream", ...headers });
        res.end([...notes, answer].map((m) => `data: ${JSON.stringify(m)}\n\n`).join(""));
      },
    });
    child.stdin.write(JSON.stringify({ ...message, id: number }) + "\n");
  });
}).listen(Number(port), "127.0.0.1");
