/**
 * The inspector in Chromium, beside a page of one line on the same machine: bytes of its scripts, first paint, milliseconds
 * until a view shows its data, the longest task of the browser meanwhile, and milliseconds from a click to what it shows.
 * With 10,000 threads, a thread of 1,000 steps, a plan of 200 subtasks and a state of 5 MB.
 *
 *   npx tsx bench/inspector.ts [--threads 10000] [--steps 1000] [--subtasks 200] [--repeats 5]
 */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { chromium, type Page } from "playwright-core";
import { createServer } from "../src/index.ts";
import { openDatabase } from "../src/storage/database.ts";
import { seedLongThread, seedPlan, startRun, endOf } from "../test/helpers/inspector-threads.ts";
import { openAIServer } from "../test/helpers/openai-server.ts";
import { buildPages } from "../web/build.ts";
import { median } from "./helpers/median.ts";
import { printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({
  options: {
    threads: { type: "string", default: "10000" },
    steps: { type: "string", default: "1000" },
    subtasks: { type: "string", default: "200" },
    repeats: { type: "string", default: "5" },
    browser: { type: "string", default: process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium" },
  },
});
const [threads, steps, subtasks, repeats] = [
  options.threads,
  options.steps,
  options.subtasks,
  options.repeats,
].map(Number) as [number, number, number, number];

await buildPages();
const folder = join(tmpdir(), `stratagraph-bench-${randomBytes(4).toString("hex")}`);
const database = await openDatabase({ folder });
const models = await openAIServer();
const server = await createServer({
  database,
  development: true,
  env: { OPENAI_API_KEY: "sk-bench", OPENAI_BASE_URL: models.url },
  runtime: { defaultModel: "openai:test" },
});
const { url } = await server.listen({ port: 0 });

async function send<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  return (await response.json()) as Body;
}

const seeded = {
  models,
  send,
  addAgent: async (definition: object) =>
    (await send<{ id: string }>("POST", "/v1/agents", definition)).id,
};
const long = await seedLongThread(seeded, { steps });
const plan = await seedPlan(seeded, { subtasks });
const keeper = await seeded.addAgent({
  name: "large",
  tools: ["calculator"],
  workflow_graph: {
    entry_point: "sum",
    nodes: [
      { name: "sum", type: "tool", config: { tool: "calculator", args: { expression: "1" } } },
    ],
    edges: [{ from: "sum", to: "END" }],
    output: { message: "Done." },
  },
});
// An input has at most a megabyte of JSON. The messages of a thread add up.
const megabyte = { message: "x".repeat(999_900) };
const large = await startRun(seeded, keeper, megabyte);
await endOf(seeded, large);
for (let turn = 1; turn < 6; turn++)
  await endOf(seeded, await startRun(seeded, keeper, { ...megabyte, thread: large.thread }));
const client = await database.pool.connect();
await client.query(
  `begin; set local app.upkeep = 'on'; insert into stratagraph.agent_instance (id, tenant_id, definition_id, agent, thread_id, created_at)
  select gen_random_uuid(), tenant_id, definition_id, agent, gen_random_uuid()::text, now() - n * interval '1 minute'
  from generate_series(1, ${threads}) n, (select * from stratagraph.agent_instance limit 1) one; commit`,
);
client.release();

const plain = createPlainServer((_request, response) => {
  response.writeHead(200, { "Content-Type": "text/html" });
  response.end("<!doctype html><title>One line</title><h1>One line</h1>");
});
await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
const plainUrl = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/`;

const browser = await chromium.launch({
  executablePath: options.browser,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});

interface Measured {
  readonly paint: number;
  readonly shown: number;
  readonly longest: number;
  readonly click: number | null;
}

/** Opens a page in a new context, so that nothing is cached, waits for what it shows, and clicks. */
async function measure(
  address: string,
  shows: string,
  click?: { readonly on: string; readonly shows: string },
): Promise<Measured> {
  // What is waited for is looked at by a script of this program, which the policy of the page refuses.
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    bypassCSP: true,
  });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: "longtask", buffered: true } as never);
  });
  await page.goto(address);
  const shown = await timeOf(page, shows);
  let clicked: number | null = null;
  if (click !== undefined) {
    const before = await page.evaluate(() => performance.now());
    await page.locator(click.on).first().click();
    clicked = (await timeOf(page, click.shows)) - before;
  }
  const { paint, longest } = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    longest: Math.max(0, ...(Reflect.get(globalThis, "tasks") as number[])),
  }));
  await context.close();
  return { paint, shown, longest, click: clicked };
}

/** Milliseconds of the page at which an element is there. */
async function timeOf(page: Page, selector: string): Promise<number> {
  const handle = await page.waitForFunction(
    `document.querySelector(${JSON.stringify(selector)}) !== null && performance.now()`,
    undefined,
    { polling: "raf", timeout: 20_000 },
  );
  return (await handle.jsonValue()) as number;
}

const of = (thread: string, rest = "") => `${url}/inspector/threads/${thread}${rest}`;
const cases = [
  ["a page of one line", plainUrl, "h1"],
  [`${threads.toLocaleString("en")} threads`, `${url}/inspector/threads`, ".virtual .item"],
  [
    `a step of ${steps.toLocaleString("en")}`,
    of(long.thread),
    ".virtual .item",
    { on: ".virtual a.item", shows: ".thread-steps.open .step-detail" },
  ],
  ["their timeline", of(long.thread, "/timeline"), ".timeline-lane"],
  ["their graph", of(long.thread, "/graph"), ".path-graph svg path"],
  [`a plan of ${subtasks}`, of(plan.thread, "/plan"), "main svg path"],
  ["a state of 5 MB", of(large.thread, "/checkpoints"), ".checkpoint-tree .item"],
] as const;
const rows: string[][] = [];
for (const [name, address, shows, click] of cases) {
  const runs: Measured[] = [];
  try {
    for (let round = 0; round < repeats; round++) runs.push(await measure(address, shows, click));
  } catch (thrown) {
    console.error(name, thrown instanceof Error ? thrown.message.split("\n")[0] : thrown);
  }
  const ms = (pick: (one: Measured) => number | null) => {
    const all = runs.map(pick).filter((one) => one !== null);
    return all.length === 0 ? "" : `${median(all).toFixed(0)} ms`;
  };
  rows.push([
    name,
    ms(({ paint }) => paint),
    ms(({ shown }) => shown),
    ms(({ longest }) => longest),
    ms(({ click: clicked }) => clicked),
  ]);
}
printTable(["", "first paint", "data shown", "longest task", "click to detail"], rows);

const assets = new URL("../dist/inspector/assets/", import.meta.url);
const sizes = readdirSync(assets).map((name) => ({
  name,
  bytes: gzipSync(readFileSync(new URL(name, assets))).length,
}));
const sum = (pattern: RegExp) =>
  sizes.filter(({ name }) => pattern.test(name)).reduce((all, { bytes }) => all + bytes, 0) / 1_000;
console.log(
  `\nAll scripts ${sum(/\.js$/).toFixed(1)} KB, all styles ${sum(/\.css$/).toFixed(1)} KB, gzipped.`,
);

await browser.close();
plain.close();
await server.close(0);
await models.close();
await database.close();
rmSync(folder, { recursive: true, force: true });
