// A TypeScript client of either generation: `node client.mjs PACKAGES SDK`, with {"command", "args", "env", "cwd", "wait",
// "call": {"name", "arguments"}} on standard input. It says what it was told as JSON: {"version", "tools", "result"}.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, sdk] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)));
const first = sdk === "sdk";
const { Client } = await load(first ? "sdk/client/index.js" : "client");
const { StdioClientTransport } = await load(first ? "sdk/client/stdio.js" : "client/stdio");

const script = JSON.parse(readFileSync(0, "utf8"));
const options = first ? {} : { versionNegotiation: { mode: "auto" } };
const capabilities = { elicitation: {} };
const client = new Client({ name: "creance-pairs", version: "1" }, { ...options, capabilities });
// Says yes for this session to what Creance asks.
const agree = ({ params }) => {
  const field = params.requestedSchema.properties.answer;
  const offered = field.enum ?? field.oneOf.map((one) => one.const);
  const answer = offered.find((word) => word.startsWith("session")) ?? offered[0];
  return { action: "accept", content: { answer } };
};
const asked = first ? (await load("sdk/types.js")).ElicitRequestSchema : "elicitation/create";
client.setRequestHandler(asked, agree);
const { command, args, env, cwd } = script;
await client.connect(new StdioClientTransport({ command, args, env, cwd, stderr: "ignore" }));
const until = Date.now() + 30_000;
let tools = [];
while (Date.now() < until) {
  tools = (await client.listTools()).tools.map((tool) => tool.name);
  if (tools.includes(script.call.name)) break;
  // A question to a client of 2026-07-28 rides on its calls.
  await client.callTool({ name: "creance_status", arguments: {} });
  await new Promise((done) => setTimeout(done, 100));
}
const result = await client.callTool(script.call);
const version = client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? null;
console.log(JSON.stringify({ version, tools, result }));
await client.close();
process.exit(0);
