import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
let consumer: string;

/** What the package is built of. */
const sources = [
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  ".npmrc",
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "SECURITY.md",
  "src",
  "checkpointers",
  "web",
  "schema",
];

/** Copies the sources: the build removes `dist`, of which other tests serve the inspector meanwhile. */
async function copySources(): Promise<string> {
  const copy = join(consumer, "sources");
  for (const path of sources) await cp(path, join(copy, path), { recursive: true });
  await symlink(resolve("node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Without what an `npm exec` around the tests says, which the command of a test would take for its own. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_config_(?:package|yes|call)$/.test(name)),
);

/** The package as npm would publish it, installed in a project of its own. */
beforeAll(async () => {
  consumer = await mkdtemp(join(tmpdir(), "stratagraph-consumer-"));
  const packed = await run("npm", ["pack", "--json", "--pack-destination", consumer], {
    cwd: await copySources(),
    timeout: 120_000,
  });
  const tarball = /stratagraph-[\w.-]+\.tgz/.exec(packed.stdout)?.[0];
  if (tarball === undefined) throw new Error(`npm pack printed no file name: ${packed.stdout}`);
  await writeFile(join(consumer, "package.json"), `{ "private": true, "type": "module" }`);
  await run(
    "npm",
    ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", `./${tarball}`],
    { cwd: consumer, timeout: 180_000 },
  );
}, 300_000);

/** The program that the package installs. */
const command = () => join(consumer, "node_modules/.bin/stratagraph");

afterAll(async () => {
  await rm(consumer, { recursive: true, force: true });
});

it("runs an agent from plain JavaScript", async () => {
  await writeFile(
    join(consumer, "run.mjs"),
    `import { defineAgent, executeAgent } from "stratagraph";
     const agent = defineAgent({ name: "calc", tools: ["calculator"] });
     const { status, output } = await executeAgent(agent, { message: "What is 2 + 3?" });
     console.log(JSON.stringify({ status, output }));`,
  );
  const { stdout } = await run("node", ["run.mjs"], { cwd: consumer });
  const result: unknown = JSON.parse(stdout);
  expect(result).toEqual({
    status: "COMPLETED",
    output: expect.objectContaining({ message: expect.stringContaining("5") }),
  });
});

it("brings few packages", async () => {
  const lock = await readFile(join(consumer, "node_modules/.package-lock.json"), "utf8");
  const { packages } = JSON.parse(lock) as { packages: object };
  expect(Object.keys(packages).length).toBeLessThanOrEqual(120);
});

it("names the package that a definition needs, and how to install it", async () => {
  await writeFile(
    join(consumer, "masked.yaml"),
    "name: masked\nguardrail_config: { input_rails: [{ type: pii }] }\n",
  );
  const install = "npm install libphonenumber-js@^1.13.16";
  const checked = run(command(), ["check", "masked.yaml"], { cwd: consumer });
  await expect(checked).rejects.toMatchObject({ stdout: expect.stringContaining(install) });
  const examined = run(command(), ["doctor", "masked.yaml"], { cwd: consumer });
  await expect(examined).rejects.toMatchObject({ stdout: expect.stringContaining(install) });
});

it("is loaded by CommonJS, and from a database that came with it", async () => {
  const folder = join(consumer, "commonjs");
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), `{ "type": "commonjs" }`);
  await writeFile(
    join(folder, "run.js"),
    `import("stratagraph").then(async ({ createRuntime, defineAgent, executeAgent }) => {
       const runtime = await createRuntime({ folder: "threads" });
       const agent = defineAgent({ name: "calc", tools: ["calculator"] });
       const { status } = await executeAgent(agent, { message: "What is 2 + 3?" }, { runtime, threadId: "t" });
       await runtime.close();
       console.log(status);
     });`,
  );
  const { stdout } = await run("node", ["run.js"], { cwd: folder, env });
  expect(stdout.trim()).toBe("COMPLETED");
});

it("keeps the names of its classes", async () => {
  await writeFile(
    join(consumer, "names.mjs"),
    `import * as library from "stratagraph";
     import * as checkpointers from "stratagraph/checkpointers";
     const named = [library, checkpointers].flatMap((module) => Object.entries(module));
     const classes = named.filter(([, value]) => String(value).startsWith("class"));
     const renamed = classes.filter(([name, value]) => value.name !== name);
     console.log(JSON.stringify([classes.length > 50, renamed]));`,
  );
  const { stdout } = await run("node", ["names.mjs"], { cwd: consumer });
  expect(JSON.parse(stdout)).toEqual([true, []]);
});

it("types its public names for a strict TypeScript project", async () => {
  await writeFile(
    join(consumer, "consumer.ts"),
    `import { defineAgent, executeAgent } from "stratagraph";
     const agent = defineAgent({ name: "calc", tools: ["calculator"] });
     const result = await executeAgent(agent, { message: "What is 2 + 3?" });
     export const status: string = result.status;
     // @ts-expect-error An agent has a name.
     defineAgent({ tools: ["calculator"] });
     // @ts-expect-error A status is not a number, and not \`any\`.
     export const wrong: number = result.status;`,
  );
  const options = "--strict --noEmit --skipLibCheck --target es2022 --module nodenext --types node";
  const typeRoots = join(process.cwd(), "node_modules/@types");
  const tsc = join(process.cwd(), "node_modules/typescript-7/bin/tsc");
  const checked = run(
    "node",
    [tsc, ...options.split(" "), "--typeRoots", typeRoots, "consumer.ts"],
    { cwd: consumer },
  );
  await expect(checked).resolves.toMatchObject({ stdout: "" });
});

it("installs its command", async () => {
  const { stdout } = await run("npx", ["--no-install", "stratagraph", "--version"], {
    cwd: consumer,
    env,
  });
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  expect(stdout.trim()).toBe(version);
});

it("says what drawing a picture needs beside it", async () => {
  await writeFile(join(consumer, "agent.json"), `{ "name": "calc" }`);
  const args = ["graph", "agent.json", "-o", "a.png", "--browser", process.execPath];
  const drawing = run(command(), args, { cwd: consumer });
  await expect(drawing).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("npm install --save-dev playwright-core @mermaid-js/tiny"),
  });
});

it("brings the inspector", async () => {
  await writeFile(
    join(consumer, "page.mjs"),
    `import { createServer } from "stratagraph";
     const server = await createServer({ development: true, concurrency: 0 });
     const read = async (path) => (await server.fetch(new Request("http://127.0.0.1/inspector/" + path))).text();
     const page = await read("threads");
     const [, script] = /src="([^"]+\\.js)"/.exec(page);
     console.log(page.includes('<base href="/inspector/">'), (await read(script)).length > 10_000);
     await server.close(0);`,
  );
  const { stdout } = await run("node", ["page.mjs"], { cwd: consumer });
  expect(stdout.trim()).toBe("true true");
}, 60_000);
