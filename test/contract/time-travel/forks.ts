import { Overwrite } from "@langchain/langgraph";
import { expect, test } from "vitest";
import { checkpointIdOf, type Travel } from "./journey.ts";
import { chain, newSteps, wrote } from "./trail.ts";

/** Changing the state of an old checkpoint and going on from there. */
export function forks(travel: Travel): void {
  const abc = (options: { interruptBefore?: string[] } = {}) => {
    const { step, took } = newSteps();
    const journey = travel((checkpointer) =>
      chain({ a: step("a"), b: step("b"), c: step("c") }, { checkpointer, ...options }),
    );
    return { journey, took };
  };

  test.each([
    { node: "__start__", trail: ["fork", "a2", "b2", "c2"] },
    { node: "a", trail: ["in", "fork", "a2", "b2", "c2"] },
    { node: "b", trail: ["in", "a1", "fork", "b2", "c2"] },
    { node: "c", trail: ["in", "a1", "b1", "fork", "c2"] },
  ])("a fork before $node goes on with the changed state", async ({ node, trail }) => {
    const { journey } = abc();
    await journey.run(wrote("in"));

    const forked = await journey.update(wrote("fork"), await journey.before(node));

    expect((await journey.run(null, forked)).trail).toEqual(trail);
  });

  test("a fork is the thread's newest state, and goes on without naming it", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("c");

    await journey.update(wrote("fork"), start);

    const head = await journey.state();
    expect(head.next).toEqual(["c"]);
    expect(head.metadata?.source).toBe("update");
    expect(checkpointIdOf(head.parentConfig!)).toBe(checkpointIdOf(start));
    expect((await journey.run(null)).trail).toEqual(["in", "a1", "b1", "fork", "c2"]);
  });

  test("twelve forks of one checkpoint keep apart", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("c");

    for (let fork = 1; fork <= 12; fork += 1) {
      const forked = await journey.update(wrote(`fork ${fork}`), start);
      const { trail, values } = await journey.run(null, forked);
      expect(trail).toEqual(["in", "a1", "b1", `fork ${fork}`, `c${fork + 1}`]);
      expect(values["last"]).toBe(`c${fork + 1}`);
    }
  });

  test("two forks made before either runs keep apart", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("b");

    const left = await journey.update(wrote("left"), start);
    const right = await journey.update(wrote("right"), start);

    expect((await journey.run(null, left)).trail).toEqual(["in", "a1", "left", "b2", "c2"]);
    expect((await journey.run(null, right)).trail).toEqual(["in", "a1", "right", "b3", "c3"]);
  });

  test("two forks that take turns step by step keep apart", async () => {
    const { journey } = abc({ interruptBefore: ["b", "c"] });
    await journey.run(wrote("in"));
    const start = await journey.before("b");
    const left = await journey.update(wrote("left"), start);
    const right = await journey.update(wrote("right"), start);

    const leftHalf = await journey.run(null, left);
    const rightHalf = await journey.run(null, right);
    const leftEnd = await journey.run(null, leftHalf);
    const rightEnd = await journey.run(null, rightHalf);

    expect(leftHalf.trail).toEqual(["in", "a1", "left", "b1"]);
    expect(leftEnd.trail).toEqual(["in", "a1", "left", "b1", "c1"]);
    expect(rightEnd.trail).toEqual(["in", "a1", "right", "b2", "c2"]);
  });

  test("two forks that run at the same time keep apart", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("b");
    const left = await journey.update(wrote("left"), start);
    const right = await journey.update(wrote("right"), start);

    const ends = await journey.runTogether([
      [null, left],
      [null, right],
    ]);

    expect(ends.map(({ trail }) => trail[2])).toEqual(["left", "right"]);
    expect(ends.map(({ trail }) => trail.length)).toEqual([5, 5]);
  });

  test("a fork of a fork of a fork keeps what each of them changed", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    await journey.run(null, await journey.update(wrote("x"), await journey.before("a")));
    await journey.run(null, await journey.update(wrote("y"), await journey.before("b", -1)));

    const last = await journey.run(
      null,
      await journey.update(wrote("z"), await journey.before("c", -1)),
    );

    expect(last.trail).toEqual(["in", "x", "a2", "y", "b3", "z", "c4"]);
  });

  test("the branch that was forked goes on from its own end", async () => {
    const { journey } = abc();
    const first = await journey.run(wrote("in"));
    const fork = await journey.update(wrote("fork"), await journey.before("b"));
    const forked = await journey.run(null, fork);

    const onFirst = await journey.run(wrote("more"), first);
    const onFork = await journey.run(wrote("more"), forked);

    expect(onFirst.trail).toEqual([...first.trail, "more", "a2", "b3", "c3"]);
    expect(onFork.trail).toEqual([...forked.trail, "more", "a3", "b4", "c4"]);
  });

  test("a fork of a late turn and then one of an early turn keep their own turns", async () => {
    const { journey } = abc();
    const turns = [];
    for (const text of ["one", "two", "three"]) turns.push(await journey.run(wrote(text)));

    const late = await journey.run(
      null,
      await journey.update(wrote("late"), await journey.before("c", 2)),
    );
    const early = await journey.run(
      null,
      await journey.update(wrote("early"), await journey.before("c", 0)),
    );

    expect(late.trail).toEqual([...turns[1]!.trail, "three", "a3", "b3", "late", "c4"]);
    expect(early.trail).toEqual(["one", "a1", "b1", "early", "c5"]);
  });

  test("a fork of the end has nothing to run until there is new input", async () => {
    const { journey, took } = abc();
    const end = await journey.run(wrote("in"));
    const fork = await journey.update(wrote("fork"), end);
    took();

    expect((await journey.run(null, fork)).trail).toEqual([...end.trail, "fork"]);
    expect(took()).toEqual([]);
    expect((await journey.run(wrote("more"))).trail).toEqual([
      ...end.trail,
      "fork",
      "more",
      "a2",
      "b2",
      "c2",
    ]);
  });

  test("a fork that overwrites a list, longer or shorter, leaves the other branches theirs", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const start = await journey.before("c");
    const { lines } = start.values as { lines: { text: string; about: string }[] };

    for (const kept of [
      [],
      lines.slice(0, 1),
      lines.slice(1),
      lines.toReversed(),
      [...lines, ...lines],
    ]) {
      const fork = await journey.update(
        { trail: new Overwrite(["new"]), lines: new Overwrite(kept) },
        start,
      );
      const { values, trail } = await journey.run(null, fork);
      expect(trail).toEqual(["new", expect.stringMatching(/^c\d$/u)]);
      expect((values["lines"] as unknown[]).slice(0, -1)).toEqual(kept);
    }
  });

  test("a checkpoint that is copied into another thread goes on there, and the threads keep apart", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const copy = await journey.copy(await journey.before("b"));

    const there = await copy.run(null);
    const more = await copy.run(null, await copy.update(wrote("fork"), await copy.before("c")));
    const here = await journey.run(wrote("more"));

    expect(there.trail).toEqual(["in", "a1", "b2", "c2"]);
    expect(more.trail).toEqual(["in", "a1", "b2", "fork", "c3"]);
    expect(here.trail).toEqual(["in", "a1", "b1", "c1", "more", "a2", "b3", "c4"]);
    expect((await copy.run(null, there)).values).toEqual(there.values);
  });

  test("a copy of a thread outlives the thread it came from, and a thread its copy", async () => {
    const { journey } = abc();
    await journey.run(wrote("in"));
    const copies = [await journey.copy(await journey.before("c"))];
    copies.push(await copies[0]!.copy(await copies[0]!.before("c")));
    for (const copy of copies) await copy.run(null);

    await journey.delete();
    for (const copy of copies) await copy.run(wrote("more"));
    await copies[0]!.delete();

    const { trail } = await copies[1]!.run(wrote("again"));
    expect(trail.slice(0, 4)).toEqual(["in", "a1", "b1", "c3"]);
    expect(await journey.history()).toEqual([]);
  });
}
