import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { plannerThread } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

/** Writes no checkpoint while it is closed, and says, as ours does, when all are written. */
class GatedSaver extends MemorySaver {
  open = () => {};
  readonly #opened = new Promise<void>((resolve) => (this.open = resolve));
  readonly stored: string[] = [];

  override async put(...args: Parameters<MemorySaver["put"]>) {
    await this.#opened;
    const stored = await super.put(...args);
    this.stored.push(String(args[0].configurable?.["checkpoint_ns"]));
    return stored;
  }

  async flush(): Promise<void> {
    await this.#opened;
    // Each is begun when the one before is written.
    for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
  }
}

describe("the log of a plan's subtasks", () => {
  it("begins when the checkpoint that it is kept beside is stored", async () => {
    const checkpointer = new GatedSaver();
    let storedBefore: readonly string[] = [];
    const { start } = await plannerThread({
      plan: planOf({ a: "" }),
      checkpointer,
      does: () => {
        storedBefore = [...checkpointer.stored];
        return "ok";
      },
    });
    const running = start();
    for (let turns = 0; turns < 200; turns += 1) await new Promise(setImmediate);
    expect(checkpointer.stored).toEqual([]);
    checkpointer.open();
    expect((await running).status).toBe("COMPLETED");
    const planners = storedBefore.filter((namespace) => namespace.startsWith("planner:"));
    // Its beginning, its input, and what initialize, begin and decompose made.
    expect([planners.length, storedBefore.includes("")]).toEqual([5, true]);
  });
});
