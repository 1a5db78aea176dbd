import type { RunnableConfig } from "@langchain/core/runnables";
import { describe, expect, it } from "vitest";
import { withAncestors } from "../../../src/compile/guards/waiting.ts";
import { collect } from "../../helpers/collect.ts";

interface Link {
  readonly config: RunnableConfig;
  readonly parent: string | undefined;
}

/** Of `child <- parent` pairs in `thread/id` form, from the first on. */
async function line(parents: Readonly<Record<string, string>>): Promise<string[]> {
  const at = (place: string): Link => {
    const [thread_id, checkpoint_id] = place.split("/");
    return { config: { configurable: { thread_id, checkpoint_id } }, parent: parents[place] };
  };
  const [first = ""] = Object.keys(parents);
  const parentOf = async ({ parent }: Link) => (parent === undefined ? undefined : at(parent));
  const found = await collect(withAncestors(at(first), parentOf));
  return found.map(({ config: { configurable } }) =>
    [configurable?.["thread_id"], configurable?.["checkpoint_id"]].join("/"),
  );
}

describe("a checkpoint with its ancestors", () => {
  it("is followed by its parent and the parent's", async () => {
    expect(await line({ "t/3": "t/2", "t/2": "t/1" })).toEqual(["t/3", "t/2", "t/1"]);
  });

  it("ends at one that is its own parent", async () => {
    expect(await line({ "t/2": "t/1", "t/1": "t/1" })).toEqual(["t/2", "t/1"]);
  });

  it("ends where it comes back", async () => {
    expect(await line({ "t/3": "t/2", "t/2": "t/1", "t/1": "t/2" })).toHaveLength(3);
  });

  it("goes on in the thread that it was forked from", async () => {
    expect(await line({ "fork/1": "t/1" })).toEqual(["fork/1", "t/1"]);
  });
});
