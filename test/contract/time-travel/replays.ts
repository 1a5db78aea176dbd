import { expect, test } from "vitest";
import { checkpointIdOf, type Travel } from "./journey.ts";
import { chain, newSteps, wrote } from "./trail.ts";

/** Running again from an old checkpoint. */
export function replays(travel: Travel): void {
  const abc = () => {
    const { step, took } = newSteps();
    const journey = travel((checkpointer) =>
      chain({ a: step("a"), b: step("b"), c: step("c") }, { checkpointer }),
    );
    return { journey, took };
  };

  test.each([
    { node: "__start__", runs: ["a", "b", "c"], trail: ["in", "a2", "b2", "c2"] },
    { node: "a", runs: ["a", "b", "c"], trail: ["in", "a2", "b2", "c2"] },
    { node: "b", runs: ["b", "c"], trail: ["in", "a1", "b2", "c2"] },
    { node: "c", runs: ["c"], trail: ["in", "a1", "b1", "c2"] },
  ])("a replay from before $node runs $runs again", async ({ node, runs, trail }) => {
    const { journey, took } = abc();
    await journey.run(wrote("in"));
    took();

    const replayed = await journey.run(null, await journey.before(node));

    expect(took()).toEqual(runs);
    expect(replayed.trail).toEqual(trail);
    expect((await journey.state()).values).toEqual(replayed.values);
  });

  test("a replay of the end runs nothing and writes nothing", async () => {
    const { journey, took } = abc();
    const end = await journey.run(wrote("in"));
    const { length } = await journey.history();
    took();

    expect((await journey.run(null, end)).values).toEqual(end.values);

    expect(took()).toEqual([]);
    expect(await journey.history()).toHaveLength(length);
  });

  test("a replay of the end of an older branch returns what that branch ended with", async () => {
    const { journey, took } = abc();
    const first = await journey.run(wrote("in"));
    await journey.run(null, await journey.before("b"));
    took();

    expect((await journey.run(null, first)).values).toEqual(first.values);
    expect(took()).toEqual([]);
  });

  test("a replay is a branch that begins with a copy of the checkpoint it starts from", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("b");

    await journey.run(null, start);

    const history = await journey.history();
    expect(history.map(({ metadata, next }) => [metadata?.source, ...next])).toEqual([
      ["loop"],
      ["loop", "c"],
      ["fork", "b"],
      ["loop"],
      ["loop", "c"],
      ["loop", "b"],
      ["loop", "a"],
      ["input", "__start__"],
    ]);
    const copy = history[2]!;
    expect(copy.values).toEqual(start.values);
    expect(checkpointIdOf(copy.parentConfig!)).toBe(checkpointIdOf(start));
  });

  test("several replays of one checkpoint each keep their own result", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("b");

    const trails = [];
    for (let turn = 0; turn < 4; turn += 1) trails.push((await journey.run(null, start)).trail);

    expect(trails).toEqual([2, 3, 4, 5].map((run) => ["in", "a1", `b${run}`, `c${run}`]));
  });

  test("a replay is replayed", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    await journey.run(null, await journey.before("b"));

    const again = await journey.run(null, await journey.before("c", -1));

    expect(again.trail).toEqual(["in", "a1", "b2", "c3"]);
  });

  test("a replay after a replay of another checkpoint starts from the first run's state", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const [beforeB, beforeC] = [await journey.before("b"), await journey.before("c")];

    await journey.run(null, beforeB);

    expect((await journey.run(null, beforeC)).trail).toEqual(["in", "a1", "b1", "c3"]);
  });

  test("a replay streams the values of the checkpoints it writes", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const { length } = await journey.history();

    const chunks = await journey.stream(null, await journey.before("b"));

    const history = await journey.history();
    const written = history.slice(0, history.length - length).toReversed();
    expect(chunks).toEqual(written.map(({ values }) => (values as { trail: string[] }).trail));
    expect(chunks.at(-1)).toEqual(["in", "a1", "b2", "c2"]);
  });

  test("new input at the end of an old turn starts another turn from there", async () => {
    const { journey } = abc();
    const first = await journey.run(wrote("one"));
    const second = await journey.run(wrote("two"));

    const other = await journey.run(wrote("three"), first);

    expect(other.trail).toEqual([...first.trail, "three", "a3", "b3", "c3"]);
    expect((await journey.run(wrote("four"), second)).trail).toEqual([
      ...second.trail,
      "four",
      "a4",
      "b4",
      "c4",
    ]);
  });

  test("new input in the middle of an old turn begins the graph again from that state", async () => {
    const { journey, took } = abc();
    await journey.run(wrote("one"));
    took();

    const other = await journey.run(wrote("two"), await journey.before("c"));

    expect(took()).toEqual(["a", "b", "c"]);
    expect(other.trail).toEqual(["one", "a1", "b1", "two", "a2", "b2", "c2"]);
  });

  test("the thread goes on from a replay", async () => {
    const { journey } = abc();
    await journey.run(wrote("one"));
    const replayed = await journey.run(null, await journey.before("b"));

    const next = await journey.run(wrote("two"));

    expect(next.trail).toEqual([...replayed.trail, "two", "a2", "b3", "c3"]);
  });
}
