import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
let consumer: string;

/** The package as npm would publish it, installed in a project of its own. */
beforeAll(async () => {
  consumer = await mkdtemp(join(tmpdir(), "stratagraph-consumer-"));
  const packed = await run("npm", ["pack", "--json", "--pack-destination", consumer], {
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
  const tsc = join(process.cwd(), "node_modules/typescript/bin/tsc");
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
  });
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  expect(stdout.trim()).toBe(version);
});

it("says what drawing a picture needs beside it", async () => {
  await writeFile(join(consumer, "agent.json"), `{ "name": "calc" }`);
  const drawing = run(
    "npx",
    [
      "--no-install",
      "stratagraph",
      "graph",
      "agent.json",
      "-o",
      "a.png",
      "--browser",
      process.execPath,
    ],
    { cwd: consumer },
  );
  await expect(drawing).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("npm install --save-dev playwright-core @mermaid-js/tiny"),
  });
});
