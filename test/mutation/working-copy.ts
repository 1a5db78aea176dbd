import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestFileEvent } from "./event-reporter.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface TestRun {
  /** `undefined` when it took too long and was ended. */
  readonly exitCode: number | undefined;
  /** Of the files that began, in the order in which they ended; paths from the root. */
  readonly files: readonly RanFile[];
  readonly ms: number;
  /** The end of what vitest printed. */
  readonly output: string;
}

export interface RanFile {
  readonly path: string;
  readonly begin: number;
  readonly end: number;
  readonly ok: boolean;
  readonly failed?: string;
}

/** A copy of the repository in a temporary folder, so that nothing of what happens to it reaches the repository. */
export class WorkingCopy {
  readonly #base = mkdtempSync(join(realpathSync(tmpdir()), "stratagraph-mutation-"));
  readonly folder = join(this.#base, "copy");
  readonly reachFile = join(this.#base, "reached.jsonl");
  readonly #eventFile = join(this.#base, "events.jsonl");
  /** For the temporary files of tests, which stay behind when a run is ended. */
  readonly #temporary = join(this.#base, "tmp");
  #vitest: ChildProcess | undefined;

  constructor() {
    const options = { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 } as const;
    const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    for (const path of execFileSync("git", list, options).split("\0")) {
      if (path === "" || !existsSync(join(root, path))) continue;
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      cpSync(join(root, path), join(this.folder, path), { verbatimSymlinks: true });
    }
    symlinkSync(join(root, "node_modules"), join(this.folder, "node_modules"));
    mkdirSync(join(this.folder, "coverage"));
    mkdirSync(this.#temporary);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  /** Runs `vitest run` with these arguments. */
  async test(args: readonly string[], limitMs = Infinity): Promise<TestRun> {
    const began = performance.now();
    writeFileSync(this.#eventFile, "");
    const reporter = join(this.folder, "test/mutation/event-reporter.ts");
    const command = [
      join(root, "node_modules/vitest/vitest.mjs"),
      "run",
      "--reporter=default",
      `--reporter=${reporter}`,
      ...args,
    ];
    const vitest = spawn(process.execPath, command, {
      cwd: this.folder,
      detached: true, // With a process group of its own, its workers end with it.
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        MUTATION_EVENTS: this.#eventFile,
        TMPDIR: this.#temporary,
        CI: "",
        NO_COLOR: "1",
      },
    });
    this.#vitest = vitest;
    let output = "";
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-20_000);
    };
    vitest.stdout.on("data", keep);
    vitest.stderr.on("data", keep);
    let isLate = false;
    const timer = Number.isFinite(limitMs)
      ? setTimeout(() => {
          isLate = true;
          this.#kill();
        }, limitMs)
      : undefined;
    const [code] = (await once(vitest, "exit")) as [number | null];
    clearTimeout(timer);
    this.#kill(); // What a test left running.
    this.#vitest = undefined;
    return {
      exitCode: isLate ? undefined : (code ?? 1),
      files: ranFiles(readLines<TestFileEvent>(this.#eventFile), this.folder),
      ms: performance.now() - began,
      output,
    };
  }

  /** Ends what runs in it and removes it. */
  remove(): void {
    this.#kill();
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  #kill(): void {
    const pid = this.#vitest?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Nothing of the group is left.
    }
  }
}

function ranFiles(events: readonly TestFileEvent[], folder: string): RanFile[] {
  const begins = new Map(
    events.filter(({ type }) => type === "begin").map(({ file, time }) => [file, time]),
  );
  return events
    .filter(({ type }) => type === "end")
    .map(({ file, time, ok, failed }) => ({
      path: relative(folder, file).replaceAll("\\", "/"),
      begin: begins.get(file) ?? time,
      end: time,
      ok,
      ...(failed !== undefined && { failed }),
    }));
}

/** The values of a file with one JSON text a line; none when there is no such file. */
export function readLines<Value>(file: string): Value[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Value);
}
