import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { bundledProgram, shortLived } from "./programs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A TypeScript program that a test runs in a process of its own. */
export interface Child {
  readonly pid: number;
  /** The next line it prints; rejects when it ends without another. */
  nextLine(): Promise<string>;
  /** Writes a line to its standard input. */
  send(line: string): void;
  /** Ends its standard input. */
  end(): void;
  /** Ends it at once, as kill -9 does, and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to end with SIGTERM, and waits until it is gone. */
  stop(): Promise<void>;
}

/** Returns a function that starts programs, given as paths from the root of the repository; each test's are killed after it. */
export function useChildren(): (program: string, ...args: string[]) => Child {
  const children: Child[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
  });
  return (program, ...args) => {
    const child = new TestChild(
      spawn(process.execPath, [shortLived, bundledProgram(program), ...args], {
        cwd: root,
        stdio: ["pipe", "pipe", "inherit"],
      }),
    );
    children.push(child);
    return child;
  };
}

class TestChild implements Child {
  readonly #lines: AsyncIterator<string>;
  readonly #exit: Promise<unknown>;

  constructor(private readonly process: ChildProcess) {
    this.#lines = createInterface({ input: process.stdout! })[Symbol.asyncIterator]();
    this.#exit = once(process, "exit");
    process.stdin!.on("error", () => {}); // It may be gone already.
  }

  get pid(): number {
    return this.process.pid!;
  }

  async nextLine(): Promise<string> {
    const { done, value } = await this.#lines.next();
    if (done) throw new Error(`Process ${this.pid} ended without printing another line.`);
    return value;
  }

  send(line: string): void {
    this.process.stdin!.write(`${line}\n`);
  }

  end(): void {
    this.process.stdin!.end();
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.#exit;
  }

  async stop(): Promise<void> {
    this.process.kill("SIGTERM");
    await this.#exit;
  }
}
