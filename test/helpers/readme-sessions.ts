import { execFile } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { serveCommandLines } from "./command-line-server.ts";
import { bundledProgram, shortLived } from "./programs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = bundledProgram("src/cli/main.ts");
/** Loads the modules in TypeScript that a command names. */
const tsx = import.meta.resolve("tsx");

/** Commands of a page, and what it says that they print. */
export interface Session {
  readonly commands: string;
  readonly printed: string;
}

/** Every `sh` block of a page that a `text` block follows. */
export function sessionsOf(page: string): readonly Session[] {
  const text = readFileSync(join(root, page), "utf8");
  const blocks = text.matchAll(/^```sh\n(.*?)^```\n+```text\n(.*?)^```$/gms);
  return [...blocks].map(([, commands = "", printed = ""]) => ({ commands, printed }));
}

/** Runs the commands of one page. */
export interface PageShell {
  /** Returns what the commands print. */
  run(commands: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Runs commands as they are written, from a folder of their own in which they may keep threads. Nothing is configured: no key, no database. The examples are there as well, for definitions that name files from
 * the folder that commands are run in. The command line runs in this process, which spares loading it for each command;
 * in one of its own where a tool is to end it.
 */
export async function pageShell(cwd: string): Promise<PageShell> {
  const examples = join(cwd, "examples");
  if (!existsSync(examples)) symlinkSync(join(root, "examples"), examples);
  const server = await serveCommandLines(cwd);
  const ask = `${process.execPath} ${root}test/e2e/programs/ask-command-line.mjs ${server.socket}`;
  const functions = `stratagraph() {
      if [ -n "$POWER_CUT" ]; then alone --import ${tsx} ${main} "$@"
      else ${ask} "$@"; fi
    }
    alone() { ${ask} --release && ${process.execPath} ${shortLived} "$@"; }`;
  const env = { PATH: process.env["PATH"], HOME: cwd };
  return {
    run(commands) {
      const script = commands
        .replaceAll(/^npm run stratagraph -- /gm, "stratagraph ")
        .replaceAll("examples/", `${root}examples/`)
        .replaceAll(
          /^npx tsx (\S+)/gm,
          (_all, file: string) => `alone ${bundledProgram(relative(root, file))}`,
        );
      return new Promise((resolve) => {
        // Exit codes are shown by commands that ask for them.
        execFile("bash", ["-c", `${functions}\n${script}`], { cwd, env }, (_failed, out, errors) =>
          resolve(`${out}${errors}`.replaceAll(root, "")),
        );
      });
    },
    close: () => server.close(),
  };
}

/**
 * A printed run without what differs from one run to the next: durations, times, sizes, ids, how wide columns of them
 * are, where lines with durations are cut, which way through a plan took longest, and the order of steps and subtasks
 * beside each other.
 */
export function settled(printed: string): readonly string[] {
  // Ids and ages of memories are part of contexts.
  const hasMemories = /^ {5}memory {2}/m.test(printed);
  const lines = (hasMemories ? printed.replaceAll(/\d+(?= tokens)/g, "0") : printed)
    .trimEnd()
    .replaceAll(/\b\d+(\.\d+)? m?s\b/g, "0 ms")
    .replaceAll(/^(.{60}).*…(?= {2}0 ms)/gm, "$1…")
    .replaceAll(/\b\d+ (s|min) ago\b/g, "0 ms ago")
    .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, "2026-01-01 00:00 UTC")
    .replaceAll(/\b\d{4}-\d\d-\d\d, times in UTC/g, "2026-01-01, times in UTC")
    .replaceAll(/\b\d\d:\d\d:\d\d\b/g, "00:00:00")
    .replaceAll(/\b\d+(\.\d)? k?B\b/g, "0 B")
    .replaceAll(/\b[\da-f]{8}-[\da-f]{4}(-[\da-f]+)*\b/g, "00000000-0000")
    .replaceAll(/^( *\d\.\d\d {2}|)[\da-f]{8}(?= {2})/gm, "$100000000")
    .replaceAll(/(?<=\S) {3,}/g, "  ")
    .replaceAll(/^( {4,}\d? *\S {2})\* {2}/gm, "$1")
    .replaceAll(/^ {0,2}\d+ {2}/gm, "  0  ")
    .split("\n");
  const paragraphs: string[][][] = [[[]]];
  for (const line of lines) {
    if (line === "") paragraphs.push([[]]);
    const isHeading = /^(?: {2}0 {2}| {5}[\w-]+$| {5}[\w-]+ → )/.test(line);
    if (isHeading) paragraphs.at(-1)!.push([line]);
    else paragraphs.at(-1)!.at(-1)!.push(line);
  }
  return paragraphs.flatMap(([first = [], ...steps]) => {
    const sorted = steps.map((step) => inOrder(step).join("\n")).toSorted();
    return [...inOrder(first), ...sorted.flatMap((step) => step.split("\n"))];
  });
}

/** Lines of subtasks that follow one another, sorted. */
function inOrder(lines: readonly string[]): readonly string[] {
  const runs: string[][] = [];
  let before = false;
  for (const line of lines) {
    const isSubtask = /^ {5}(?:[▸✓] | {2}\S+ › )/.test(line);
    if (isSubtask && before) runs.at(-1)?.push(line);
    else runs.push([line]);
    before = isSubtask;
  }
  return runs.flatMap((run) => run.toSorted());
}
