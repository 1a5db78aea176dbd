import { chromium } from "playwright-core";
import { createServer } from "./src/create-server.ts";
import { openDatabase } from "./src/storage/database.ts";
import { readFileSync, readdirSync } from "node:fs";
import { parse } from "yaml";
import { buildInspector } from "./web/build.ts";
await buildInspector();
const database = await openDatabase({ folder: `/tmp/shots-db-${process.pid}` });
const server = await createServer({ database, development: true, env: {}, runtime: { defaultModel: "offline:rules" } });
const { url } = await server.listen({ port: 0 });
const send = async (method: string, path: string, body?: unknown) => {
  const r = await fetch(url + path, { method, ...(body !== undefined && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }) });
  const t = await r.text();
  if (!r.ok) console.log(method, path, r.status, t.slice(0, 300));
  return t ? JSON.parse(t) : {};
};
const ids: Record<string, string> = {};
for (const name of ["calculator", "approval-flow", "remembers", "research"]) {
  try {
    const a = await send("POST", "/v1/agents", parse(readFileSync(`examples/${name}/agent.yaml`, "utf8")));
    ids[name] = a.id;
  } catch (e) { console.log(name, e); }
}
await send("POST", "/v1/agents", { name: "careful", description: "Asks before it calculates.", tools: ["calculator"], guardrail_config: { tool_rails: { require_approval: ["calculator"] } } }).then((a) => (ids.careful = a.id));
const runs: any[] = [];
for (let i = 0; i < 12; i++) runs.push(await send("POST", `/v1/agents/${ids.calculator}/runs`, { input: { message: `What is ${i + 3} * ${i + 7}?` } }));
for (let i = 0; i < 3; i++) runs.push(await send("POST", `/v1/agents/${ids.careful}/runs`, { input: { message: `What is ${i + 3} * ${i + 7}?` } }));
for (const r of runs) await fetch(url + r.links.events).then((x) => x.text());
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
const views: Record<string, string> = { threads: "threads", thread: `threads/${runs[0].thread_id}`, timeline: `threads/${runs[0].thread_id}/timeline`, graph: `threads/${runs[0].thread_id}/graph`, checkpoints: `threads/${runs[0].thread_id}/checkpoints`, chat: `chat/${ids.calculator}?thread=${runs[0].thread_id}`, inbox: "inbox", agents: "agents", agent: `agents/${ids.calculator}`, edit: `agents/${ids.calculator}/edit`, memory: "memory", queue: "queue", schedules: "schedules", experiments: "experiments", api: "api/createRun" };
const only = process.argv[2]?.split(",");
const sizes = (process.argv[3] ?? "375,1280").split(",").map(Number);
const themes = (process.argv[4] ?? "light,dark").split(",") as ("light" | "dark")[];
for (const [name, path] of Object.entries(views)) {
  if (only && !only.includes(name) && only[0] !== "all") continue;
  for (const width of sizes) for (const theme of themes) {
    const context = await browser.newContext({ viewport: { width, height: width > 2000 ? 1440 : 800 }, colorScheme: theme });
    const page = await context.newPage();
    page.on("console", (m) => ["error", "warning"].includes(m.type()) && console.log(name, m.text()));
    await page.goto(`${url}/inspector/${path}`);
    await page.waitForTimeout(1500);
    await page.screenshot({ path: `/tmp/shots/${name}-${width}-${theme}.png` });
    await context.close();
  }
}
await browser.close(); await server.close(0); await database.close(); process.exit(0);
