import { appendFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/** A line of the file that the reporter writes to. */
export interface TestFileEvent {
  readonly type: "begin" | "end";
  /** Absolute. */
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly ok: boolean;
  /** The first test that failed. */
  readonly failed?: string;
}

/** Reports when each test file began and ended, and whether it passed, to the file that MUTATION_EVENTS names. */
export default class EventReporter implements Reporter {
  readonly #file = process.env["MUTATION_EVENTS"] ?? "";

  onTestModuleQueued(module: TestModule): void {
    this.#write({ type: "begin", file: module.moduleId, time: Date.now(), ok: true });
  }

  onTestModuleEnd(module: TestModule): void {
    const [failed] = module.children.allTests("failed");
    this.#write({
      type: "end",
      file: module.moduleId,
      time: Date.now(),
      ok: module.ok(),
      ...(failed && { failed: failed.fullName }),
    });
  }

  #write(event: TestFileEvent): void {
    appendFileSync(this.#file, `${JSON.stringify(event)}\n`);
  }
}
