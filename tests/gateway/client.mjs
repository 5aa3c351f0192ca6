// The TypeScript SDK's client, driven by the script of steps that client.py describes.
// Its packages are looked up in the folder named by the first argument.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.argv[2], "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} = await load("types.js");

const script = JSON.parse(readFileSync(0, "utf8"));
const offers = script.answers !== undefined;
const client = new Client(
  { name: "creance-tests", version: "1" },
  {
    capabilities: {
      ...(offers ? { elicitation: {} } : {}),
      // A step {"model": TEXT} says that the client has a model that answers this, {"root": URI} a root.
      ...(said("model") ? { sampling: {} } : {}),
      ...(said("root") ? { roots: {} } : {}),
    },
  },
);
function said(word) {
  return script.steps.find((step) => word in step)?.[word];
}
const sampled = [];
if (said("model")) {
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    sampled.push(params);
    const content = { type: "text", text: said("model") };
    return { role: "assistant", model: "a-model", content, stopReason: "endTurn" };
  });
}
if (said("root")) {
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: said("root") }] }));
}

const asked = [];
function choose(schema, say) {
  const fields = Object.entries(schema?.properties ?? {});
  for (const [name, field] of fields) {
    const offered = field.enum ?? (field.oneOf ?? []).map((one) => one.const);
    const found = offered.find((one) => one === say || one.startsWith(`${say}:`));
    if (found !== undefined) return { [name]: found };
  }
  for (const [name, field] of fields) {
    if (field.type === "boolean") return { [name]: say !== "no" };
  }
  return {};
}
if (offers) {
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message);
    const answer = script.answers.find((one) => params.message.includes(one.contains));
    if (answer === undefined) return { action: "decline" };
    if (["decline", "cancel"].includes(answer.say)) return { action: answer.say };
    if (answer.content) return { action: "accept", content: answer.content };
    return { action: "accept", content: choose(params.requestedSchema, answer.say) };
  });
}

let wake = () => {};
client.setNotificationHandler(ToolListChangedNotificationSchema, () => wake());

async function listed(wanted, withinS) {
  const end = Date.now() + withinS * 1000;
  for (;;) {
    const news = new Promise((resolve) => (wake = resolve));
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    if (wanted === null || names.includes(wanted)) return { tools: names };
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, end - Date.now(), "late")));
    const why = await Promise.race([news, late]);
    clearTimeout(timer);
    if (why === "late") return { tools: names, missing: wanted };
  }
}

async function called(tool, args) {
  try {
    const result = await client.callTool({ name: tool, arguments: args });
    const text = result.content.filter((part) => part.type === "text").map((part) => part.text);
    return {
      is_error: result.isError === true,
      text: text.join("\n"),
      structured: result.structuredContent ?? null,
    };
  } catch (error) {
    return { error: String(error.message) };
  }
}

const { url, token } = script.server;
const transport = url === undefined
  ? new StdioClientTransport({ ...script.server, stderr: "inherit" })
  : new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    });
await client.connect(transport);
const results = [];
for (const step of script.steps) {
  if ("call" in step) results.push(await called(step.call, step.args ?? {}));
  else if ("list" in step) results.push(await listed(step.list, step.within_s ?? 30));
}
console.log(
  JSON.stringify({
    server: client.getServerVersion()?.name ?? null,
    instructions: client.getInstructions() ?? null,
    results,
    asked,
    sampled,
  }),
);
await client.close();
