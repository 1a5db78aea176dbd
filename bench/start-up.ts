/**
 * Time and memory of commands of the built package: `--help`, `check`, the first `run` in a folder and a later one, each in
 * a process of its own. Beside another build, such as that of an earlier commit, in turns.
 *
 *   npm run build && npx tsx bench/start-up.ts [--beside PROJECT] [--repeats 7]
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median } from "./helpers/median.ts";
import { printTable } from "./helpers/table.ts";

const { values: options } = parseArgs({
  options: { beside: { type: "string" }, repeats: { type: "string", default: "7" } },
});

const folder = mkdtempSync(join(tmpdir(), "start-up-"));
writeFileSync(join(folder, "agent.yaml"), "name: clerk\ntools: [calculator]\n");
const run = ["run", "agent.yaml", "What is 17 * 23?", "--model", "offline:rules"];
const commands = {
  "--help": ["--help"],
  check: ["check", "agent.yaml"],
  "first run": run,
  "later run": run,
} as const;

interface Measured {
  readonly ms: number;
  /** Peak, in MB. */
  readonly memory: number;
}

/** Prints the peak of the process on standard error, as it ends. */
const preload = `data:text/javascript,process.on("exit",()=>process.stderr.write("\\npeak "+process.resourceUsage().maxRSS))`;

async function measure(project: string, args: readonly string[]): Promise<Measured> {
  const main = join(project, "dist/src/cli/main.js");
  const { DATABASE_URL: _none, ...env } = process.env;
  const begun = performance.now();
  const child = spawn(process.execPath, ["--import", preload, main, ...args], {
    cwd: folder,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  const code = await new Promise((end) => child.on("close", end));
  if (code !== 0)
    throw new Error(`${main} ${args.join(" ")} ended with ${String(code)}: ${errors}`);
  const peak = Number(/peak (\d+)$/.exec(errors)?.[1]);
  return { ms: performance.now() - begun, memory: peak / 1024 };
}

const own = fileURLToPath(new URL("..", import.meta.url));
const projects = [own, ...(options.beside === undefined ? [] : [resolve(options.beside)])];
const measured = new Map<string, Measured[]>();
try {
  for (let round = -1; round < Number(options.repeats); round += 1) {
    for (const project of projects) {
      rmSync(join(folder, ".stratagraph"), { recursive: true, force: true });
      for (const [name, args] of Object.entries(commands)) {
        const key = `${project} ${name}`;
        const one = await measure(project, args);
        if (round >= 0) measured.set(key, [...(measured.get(key) ?? []), one]);
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const rows = Object.keys(commands).map((name) => {
  const cells = projects.map((project) => {
    const all = measured.get(`${project} ${name}`) ?? [];
    return { ms: median(all.map(({ ms }) => ms)), memory: median(all.map((one) => one.memory)) };
  });
  const [ours, other] = cells;
  return [
    name,
    ...cells.map(({ ms, memory }) => `${(ms / 1000).toFixed(2)} s, ${memory.toFixed(0)} MB`),
    ...(ours !== undefined && other !== undefined ? [`${(ours.ms / other.ms).toFixed(2)} x`] : []),
  ];
});
const heading = ["", "this build", ...(options.beside === undefined ? [] : ["the other", "time"])];
printTable(heading, rows);
