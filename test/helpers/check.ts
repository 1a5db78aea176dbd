import { spawn } from "node:child_process";
import { once } from "node:events";

interface Ended {
  readonly passed: boolean;
  readonly output: string;
  readonly seconds: number;
}

// `npm run check`: scripts of package.json, and the tests if all of them passed. The types that are written are read by the linter.
const written = await passes("types:write");
// Together: none of them keeps two cores busy.
const checked = await Promise.all(
  ["types:check", "lint", "format:check", "unused"].map((name) => passes(name)),
);
process.exitCode = written && !checked.includes(false) ? await test() : 1;

/** Runs a script, and prints what it printed if it fails. */
async function passes(name: string): Promise<boolean> {
  const { passed, output, seconds } = await run(name);
  console.log(`${passed ? "✓" : "✗"} npm run ${name} (${seconds} s)\n${passed ? "" : output}`);
  return passed;
}

async function run(name: string): Promise<Ended> {
  const begun = performance.now();
  const child = spawn("npm", ["run", "--silent", name], { stdio: ["ignore", "pipe", "pipe"] });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return {
    passed: code === 0,
    output: Buffer.concat(chunks).toString(),
    seconds: Math.round((performance.now() - begun) / 1000),
  };
}

async function test(): Promise<number> {
  const child = spawn("npm", ["test"], { stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}
