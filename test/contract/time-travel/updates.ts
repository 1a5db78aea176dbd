import { END, START, StateGraph, type BaseCheckpointSaver } from "@langchain/langgraph";
import { expect, test } from "vitest";
import { checkpointIdOf, type Travel } from "./journey.ts";
import { chain, newSteps, Trail, wrote, wroteBeside } from "./trail.ts";

/** The ways to change state without running a node. */
export function updates(travel: Travel): void {
  const abc = (options: { interruptBefore?: string[] } = {}) => {
    const { step, took } = newSteps();
    const journey = travel((checkpointer) =>
      chain({ a: step("a"), b: step("b"), c: step("c") }, { checkpointer, ...options }),
    );
    return { journey, took };
  };

  test.each([
    { asNode: "a", runs: ["b", "c"] },
    { asNode: "b", runs: ["c"] },
    { asNode: "c", runs: [] },
    { asNode: undefined, runs: ["b", "c"] },
  ])("an update before b as node $asNode goes on with $runs", async ({ asNode, runs }) => {
    const { journey, took } = abc();
    await journey.run(wrote("in"));
    took();

    const updated = await journey.update(wrote("new"), await journey.before("b"), asNode);
    const { trail } = await journey.run(null, updated);

    expect(took()).toEqual(runs);
    expect(trail).toEqual(["in", "a1", "new", ...runs.map((name) => `${name}2`)]);
  });

  test("several updates of an old checkpoint add up", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));

    let updated = await journey.update(wrote("x"), await journey.before("c"));
    for (const text of ["y", "z"]) updated = await journey.update(wrote(text), updated);

    expect((await journey.run(null, updated)).trail).toEqual([
      "in",
      "a1",
      "b1",
      "x",
      "y",
      "z",
      "c2",
    ]);
  });

  test("updates of the newest state between two turns are part of the next", async () => {
    const { journey } = abc();
    const first = await journey.run(wrote("in"));
    await journey.update(wrote("x"));
    await journey.update(wrote("y"));

    expect((await journey.run(wrote("more"))).trail).toEqual([
      ...first.trail,
      "x",
      "y",
      "more",
      "a2",
      "b2",
      "c2",
    ]);
  });

  test("an update makes the first state of a thread", async () => {
    const { journey } = abc();

    await journey.update(wrote("made"), undefined, "a");

    expect((await journey.run(null)).trail).toEqual(["made", "b1", "c1"]);
  });

  test("an update without values keeps the state and runs what was next", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("b");

    const updated = await journey.update(null, start);

    expect((await journey.state(updated)).metadata?.source).toBe("update");
    expect((await journey.state(updated)).values).toEqual(start.values);
    expect((await journey.run(null, updated)).trail).toEqual(["in", "a1", "b2", "c2"]);
  });

  test("an update as the end, of a state that waits, leaves nothing to run", async () => {
    const { journey, took } = abc({ interruptBefore: ["b"] });
    await journey.run(wrote("in"));
    took();

    const updated = await journey.update(null, await journey.before("b"), END);

    expect((await journey.state(updated)).next).toEqual([]);
    expect((await journey.run(null, updated)).trail).toEqual(["in", "a1"]);
    expect(took()).toEqual([]);
  });

  test("an update as the end, of an old state, takes over what the next node wrote then", async () => {
    const { journey, took } = abc();
    await journey.run(wrote("in"));
    took();

    const updated = await journey.update(null, await journey.before("b"), END);

    expect((await journey.run(null, updated)).trail).toEqual(["in", "a1", "b1", "c2"]);
    expect(took()).toEqual(["c"]);
  });

  test("an update as input begins another turn after an old one", async () => {
    const { journey, took } = abc();
    const first = await journey.run(wrote("one"));
    await journey.run(wrote("two"));
    took();

    const updated = await journey.update(wrote("again"), first, "__input__");
    const { trail } = await journey.run(null, updated);

    expect(took()).toEqual(["a", "b", "c"]);
    expect(trail).toEqual([...first.trail, "again", "a3", "b3", "c3"]);
  });

  test("a copy of a checkpoint is its sibling and runs what was next", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("b");

    const copied = await journey.update(null, start, "__copy__");

    const copy = await journey.state(copied);
    expect(copy.metadata?.source).toBe("fork");
    expect(copy.values).toEqual(start.values);
    expect(checkpointIdOf(copy.parentConfig!)).toBe(checkpointIdOf(start.parentConfig!));
    expect((await journey.run(null, copied)).trail).toEqual(["in", "a1", "b2", "c2"]);
  });

  test("copies of one checkpoint keep apart when they are updated", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("b");
    const copies = [
      await journey.update(null, start, "__copy__"),
      await journey.update(null, start, "__copy__"),
    ];

    const left = await journey.run(null, await journey.update(wrote("left"), copies[0]));
    const right = await journey.run(null, await journey.update(wrote("right"), copies[1]));

    expect(left.trail).toEqual(["in", "a1", "left", "b2", "c2"]);
    expect(right.trail).toEqual(["in", "a1", "right", "b3", "c3"]);
  });

  test("a copy takes updates in place of what its next node would write", async () => {
    const { journey, took } = abc();
    await journey.run(wrote("in"));
    took();

    const copied = await journey.update(
      [[wrote("given"), "b"]],
      await journey.before("b"),
      "__copy__",
    );

    expect((await journey.run(null, copied)).trail).toEqual(["in", "a1", "given", "c2"]);
    expect(took()).toEqual(["c"]);
  });

  test("an update in bulk writes a checkpoint a step", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const { length } = await journey.history();

    const updated = await journey.updateInBulk(
      [
        { updates: [{ values: wrote("x"), asNode: "a" }] },
        { updates: [{ values: wrote("y"), asNode: "b" }] },
      ],
      await journey.before("b"),
    );

    const written = (await journey.history()).slice(0, -length);
    expect(written.map(({ values, next }) => [(values as { last: string }).last, next])).toEqual([
      ["y", ["c"]],
      ["x", ["b"]],
    ]);
    expect((await journey.run(null, updated)).trail).toEqual(["in", "a1", "x", "y", "c2"]);
  });

  test("an update in bulk of nodes side by side counts as one step of both", async () => {
    const { beside, step } = newSteps();
    const journey = travel((checkpointer) => sideBySide({ beside, step }, checkpointer));
    const first = await journey.run(wrote("in"));
    expect(first.trail).toEqual(["in", "left1", "right1", "join1"]);

    const updated = await journey.updateInBulk(
      [
        {
          updates: [
            { values: wroteBeside("my left"), asNode: "left" },
            { values: wroteBeside("my right"), asNode: "right" },
          ],
        },
      ],
      await journey.before("left"),
    );

    expect((await journey.run(null, updated)).trail).toEqual([
      "in",
      "my left",
      "my right",
      "join2",
    ]);
  });

  test("a thread is made anew in bulk from the steps of another, and goes on like it", async () => {
    const { journey, took } = abc();

    await journey.updateInBulk([
      { updates: [{ values: wrote("in"), asNode: "__input__" }] },
      { updates: [{ values: wrote("in"), asNode: START }] },
      { updates: [{ values: wrote("a0"), asNode: "a" }] },
      { updates: [{ values: wrote("b0"), asNode: "b" }] },
    ]);

    expect((await journey.run(null)).trail).toEqual(["in", "a0", "b0", "c1"]);
    expect(took()).toEqual(["c"]);
    const forked = await journey.update(wrote("fork"), await journey.before("b"), "a");
    expect((await journey.run(null, forked)).trail).toEqual(["in", "a0", "fork", "b1", "c2"]);
  });

  test("an update that is refused leaves the thread as it was", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const before = await journey.history();

    await expect(journey.update(wrote("x"), await journey.before("b"), "nobody")).rejects.toThrow(
      '"nobody"',
    );

    expect(await journey.history()).toEqual(before);
  });
}

function sideBySide(
  { beside, step }: Pick<ReturnType<typeof newSteps>, "beside" | "step">,
  checkpointer: BaseCheckpointSaver,
) {
  return new StateGraph(Trail)
    .addNode({ left: beside("left"), right: beside("right"), join: step("join") })
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge(["left", "right"], "join")
    .addEdge("join", END)
    .compile({ checkpointer });
}
