import type { StateSnapshot } from "@langchain/langgraph";
import { beforeAll, expect, test } from "vitest";
import { checkpointIdOf, type Journey, type Travel } from "./journey.ts";
import { chain, newSteps, wrote } from "./trail.ts";

const ids = (states: readonly StateSnapshot[]) => states.map((state) => checkpointIdOf(state));

/** Listing the checkpoints of a thread that has branches. */
export function histories(travel: Travel): void {
  const branched = async (): Promise<{ journey: Journey; states: StateSnapshot[] }> => {
    const { step } = newSteps();
    const made = travel((checkpointer) => chain({ a: step("a"), b: step("b") }, { checkpointer }));
    const first = await made.run(wrote("one"));
    await made.run(null, await made.before("b"));
    await made.run(null, await made.update(wrote("fork"), await made.before("b")));
    await made.run(wrote("two"), first);
    return { journey: made, states: await made.history() };
  };

  // Tests only read it.
  let journey: Journey;
  let states: StateSnapshot[];
  beforeAll(async () => {
    ({ journey, states } = await branched());
  });

  test("a history lists every branch, newest first", () => {
    expect(states.map(({ metadata }) => [metadata?.source, metadata?.step])).toEqual([
      ["loop", 6],
      ["loop", 5],
      ["loop", 4],
      ["input", 3],
      ["loop", 3],
      ["update", 2],
      ["loop", 3],
      ["fork", 2],
      ["loop", 2],
      ["loop", 1],
      ["loop", 0],
      ["input", -1],
    ]);
    expect(ids(states)).toEqual(ids(states).toSorted().toReversed());
  });

  test("a history links each state to its parent, on every branch", async () => {
    const trailOf = (state: StateSnapshot) => (state.values as { trail?: string[] }).trail ?? [];

    const [root, ...children] = states.toReversed();
    expect(root!.parentConfig).toBeUndefined();
    for (const state of children) {
      const parent = states.find(
        (one) => checkpointIdOf(one) === checkpointIdOf(state.parentConfig!),
      );
      expect(trailOf(state).slice(0, trailOf(parent!).length)).toEqual(trailOf(parent!));
      expect((await journey.state(state.parentConfig)).values).toEqual(parent!.values);
    }
  });

  test("a history lists what each state reads", async () => {
    for (const state of states) {
      const { values, next, metadata, parentConfig, createdAt } = await journey.state(state);
      expect({ values, next, metadata, createdAt }).toEqual({
        values: state.values,
        next: state.next,
        metadata: state.metadata,
        createdAt: state.createdAt,
      });
      expect(parentConfig).toEqual(state.parentConfig);
    }
  });

  test.each([1, 3, 12, 100])("a history is limited to %i", async (limit) => {
    expect(ids(await journey.history({ limit }))).toEqual(ids(states).slice(0, limit));
  });

  test("a history is read from before any of its states", async () => {
    for (const [index, state] of states.entries())
      expect(ids(await journey.history({ before: state.config }))).toEqual(
        ids(states).slice(index + 1),
      );
  });

  test("a history is read in pages", async () => {
    const pages: StateSnapshot[] = [];
    let page = await journey.history({ limit: 5 });
    while (page.length > 0) {
      pages.push(...page);
      page = await journey.history({ limit: 5, before: page.at(-1)!.config });
    }

    expect(pages.map(({ values }) => values as unknown)).toEqual(
      states.map(({ values }) => values as unknown),
    );
  });

  test.each([
    { filter: { source: "input" }, steps: [3, -1] },
    { filter: { source: "fork" }, steps: [2] },
    { filter: { source: "update" }, steps: [2] },
    { filter: { step: 2 }, steps: [2, 2, 2] },
    { filter: { source: "loop", step: 3 }, steps: [3, 3] },
    { filter: { source: "loop", step: 9 }, steps: [] },
    { filter: {}, steps: [6, 5, 4, 3, 3, 2, 3, 2, 2, 1, 0, -1] },
  ])("a history is filtered by $filter", async ({ filter, steps }) => {
    const found = await journey.history({ filter });

    expect(found.map(({ metadata }) => metadata?.step)).toEqual(steps);
  });

  test("a history is filtered, limited and read from before a state at once", async () => {
    const found = await journey.history({
      filter: { source: "loop" },
      before: states[4]!.config,
      limit: 2,
    });

    expect(ids(found)).toEqual([checkpointIdOf(states[6]!), checkpointIdOf(states[8]!)]);
  });

  test("a thread that was never run has no history and no state", async () => {
    const unused = travel((checkpointer) => chain({ a: newSteps().step("a") }, { checkpointer }));

    expect(await unused.history()).toEqual([]);
    expect(await unused.state()).toMatchObject({ values: {}, next: [], tasks: [] });
  });

  test("two threads of one graph have each their own history", async () => {
    const other = await branched();

    expect(ids(await journey.history())).toEqual(ids(states));
    expect(ids(other.states).filter((id) => ids(states).includes(id))).toEqual([]);
  });
}
