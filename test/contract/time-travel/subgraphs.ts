import type { RunnableConfig } from "@langchain/core/runnables";
import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import type { Journey, Travel } from "./journey.ts";
import { chain, innerChain, newSteps, wrote } from "./trail.ts";

const answer = (resume: unknown) => new Command({ resume });

/** Graphs inside of graphs: replays and forks of the whole, and of the checkpoints inside. */
export function subgraphs(travel: Travel): void {
  /** `a`, then `s`, two questions and `t` in a subgraph, then `b`. */
  const asking = async (checkpointer: true | undefined) => {
    const { step, ask, took } = newSteps();
    const journey = travel((saver) =>
      chain(
        {
          a: step("a"),
          sub: innerChain(
            { s: step("s"), one: ask("one"), two: ask("two"), t: step("t") },
            checkpointer,
          ),
          b: step("b"),
        },
        { checkpointer: saver },
      ),
    );
    const asked = await journey.run(wrote("in"));
    expect(asked.asks).toEqual(["one?"]);
    took();
    return { journey, asked, took };
  };
  const answered = async (checkpointer: true | undefined) => {
    const { journey, asked, took } = await asking(checkpointer);
    const first = await insideOf(journey, checkpointer);
    expect((await journey.run(answer(1))).asks).toEqual(["two?"]);
    const second = await insideOf(journey, checkpointer);
    const end = await journey.run(answer(2));
    expect(end.trail).toEqual(["in", "a1", "s1", "one:1", "two:2", "t1", "b1"]);
    took();
    return { journey, asked, first, second, end, took };
  };

  describe.each([
    { kind: "with the checkpointer it is given", checkpointer: undefined },
    { kind: "with a memory of its own", checkpointer: true as const },
  ])("a subgraph $kind", ({ checkpointer }) => {
    test("runs whole again in a replay from before it", async () => {
      const { journey, took } = await answered(checkpointer);

      expect((await journey.run(null, await journey.before("sub"))).asks).toEqual(["one?"]);
      expect(took()).toEqual(["s", "one"]);
      expect((await journey.run(answer(3))).asks).toEqual(["two?"]);

      expect((await journey.run(answer(4))).trail).toEqual([
        "in",
        "a1",
        "s2",
        "one:3",
        "two:4",
        "t2",
        "b2",
      ]);
    });

    test("does not run in a replay from after it", async () => {
      const { journey, took } = await answered(checkpointer);

      const { trail } = await journey.run(null, await journey.before("b"));

      expect(trail).toEqual(["in", "a1", "s1", "one:1", "two:2", "t1", "b2"]);
      expect(took()).toEqual(["b"]);
    });

    test("asks again in a fork from before it, and the fork takes its own answers", async () => {
      const { journey } = await answered(checkpointer);
      const fork = await journey.update(wrote("fork"), await journey.before("sub"));

      expect((await journey.run(null, fork)).asks).toEqual(["one?"]);
      expect((await journey.run(answer(3), fork)).asks).toEqual(["two?"]);

      expect((await journey.run(answer(4), fork)).trail).toEqual([
        "in",
        "a1",
        "fork",
        "s2",
        "one:3",
        "two:4",
        "t2",
        "b2",
      ]);
    });

    test("asks again in a fork of a thread that still waits for it", async () => {
      const { journey, asked } = await asking(checkpointer);
      const fork = await journey.update(wrote("fork"), asked);

      expect((await journey.run(null, fork)).asks).toEqual(["one?"]);
      expect((await journey.run(answer(3))).asks).toEqual(["two?"]);

      expect((await journey.run(answer(4))).trail).toEqual([
        "in",
        "a1",
        "fork",
        "s2",
        "one:3",
        "two:4",
        "t1",
        "b1",
      ]);
    });

    test("shows its state and its history while it waits", async () => {
      const { journey } = await asking(checkpointer);
      const inside = await insideOf(journey, checkpointer);

      const history = await journey.history(undefined, {
        configurable: {
          ...journey.thread.configurable,
          checkpoint_ns: inside.configurable?.["checkpoint_ns"] as string,
        },
      });

      expect(history.map(({ values, next }) => [trailOf(values), next])).toEqual([
        [["s1"], ["one"]],
        [[], ["s"]],
        [[], ["__start__"]],
      ]);
    });
  });

  test("a subgraph with a memory is replayed from its own checkpoint at the first question", async () => {
    const { journey, first, took } = await answered(true);

    expect((await journey.run(null, first)).asks).toEqual(["one?"]);
    expect(took()).toEqual(["one"]);
    expect((await journey.run(answer(3))).asks).toEqual(["two?"]);

    expect((await journey.run(answer(4))).trail).toEqual([
      "in",
      "a1",
      "s1",
      "one:3",
      "two:4",
      "t2",
      "b2",
    ]);
  });

  test("a subgraph with a memory is replayed from its own checkpoint at the second question", async () => {
    const { journey, second, took } = await answered(true);

    expect((await journey.run(null, second)).asks).toEqual(["two?"]);
    expect(took()).toEqual(["two"]);

    expect((await journey.run(answer(4))).trail).toEqual([
      "in",
      "a1",
      "s1",
      "one:1",
      "two:4",
      "t2",
      "b2",
    ]);
  });

  test("a subgraph with a memory is forked at its own checkpoint", async () => {
    const { journey, second, took } = await answered(true);
    const fork = await journey.update(wrote("fork"), second);

    expect((await journey.run(null, fork)).asks).toEqual(["two?"]);
    expect(took()).toEqual(["two"]);

    expect((await journey.run(answer(4))).trail).toEqual([
      "in",
      "a1",
      "s1",
      "one:1",
      "fork",
      "two:4",
      "t2",
      "b2",
    ]);
  });

  test("a subgraph with a memory is forked at two of its checkpoints, one after the other", async () => {
    const { journey, first, second } = await answered(true);

    await journey.run(null, await journey.update(wrote("late"), second));
    const late = await journey.run(answer("L"));
    await journey.run(null, await journey.update(wrote("early"), first));
    await journey.run(answer("E"));
    const early = await journey.run(answer("F"));

    expect(late.trail).toEqual(["in", "a1", "s1", "one:1", "late", "two:L", "t2", "b2"]);
    expect(early.trail).toEqual(["in", "a1", "s1", "early", "one:E", "two:F", "t3", "b3"]);
  });

  test("a subgraph without a memory begins anew in a replay from its own checkpoint", async () => {
    const { journey, second, took } = await answered(undefined);

    expect((await journey.run(null, second)).asks).toEqual(["one?"]);
    expect(took()).toEqual(["s", "one"]);
    await journey.run(answer(3));

    expect((await journey.run(answer(4))).trail).toEqual([
      "in",
      "a1",
      "s2",
      "one:3",
      "two:4",
      "t2",
      "b2",
    ]);
  });

  describe("a graph in a graph in a graph", () => {
    const nested = async () => {
      const { step, ask, took } = newSteps();
      const journey = travel((checkpointer) =>
        chain(
          {
            outer: innerChain(
              {
                p: step("p"),
                m: ask("m"),
                inner: innerChain({ s: step("s"), one: ask("one"), two: ask("two") }, true),
              },
              true,
            ),
            b: step("b"),
          },
          { checkpointer },
        ),
      );
      expect((await journey.run(wrote("in"))).asks).toEqual(["m?"]);
      const atMiddle = (await journey.within("outer")).config;
      expect((await journey.run(answer(9))).asks).toEqual(["one?"]);
      const atInner = (await journey.within("outer|inner")).config;
      expect((await journey.run(answer(1))).asks).toEqual(["two?"]);
      const aroundInner = (await journey.within("outer")).config;
      const end = await journey.run(answer(2));
      expect(end.trail).toEqual(["in", "p1", "m:9", "s1", "one:1", "two:2", "b1"]);
      took();
      return { journey, atMiddle, atInner, aroundInner, took };
    };

    test("is replayed from a checkpoint in the middle", async () => {
      const { journey, atMiddle, took } = await nested();

      expect((await journey.run(null, atMiddle)).asks).toEqual(["m?"]);
      expect(took()).toEqual(["m"]);
      expect((await journey.run(answer(3))).asks).toEqual(["one?"]);
      expect((await journey.run(answer(4))).asks).toEqual(["two?"]);

      expect((await journey.run(answer(5))).trail.slice(0, 3)).toEqual(["in", "p1", "m:3"]);
    });

    test("is forked at a checkpoint in the middle", async () => {
      const { journey, atMiddle } = await nested();

      const fork = await journey.update(wrote("fork"), atMiddle);
      expect((await journey.run(null, fork)).asks).toEqual(["m?"]);
      await journey.run(answer(3));
      await journey.run(answer(4));

      expect((await journey.run(answer(5))).trail.slice(0, 4)).toEqual(["in", "p1", "fork", "m:3"]);
    });

    test("asks again in a replay and a fork of the middle at a question of the innermost", async () => {
      const { journey, aroundInner, took } = await nested();

      expect((await journey.run(null, aroundInner)).asks).toHaveLength(1);
      expect(took()).not.toContain("m");
      const fork = await journey.update(wrote("fork"), aroundInner);
      expect((await journey.run(null, fork)).asks).toHaveLength(1);
      expect(took()).not.toContain("m");
    });

    test("is replayed from a checkpoint of the innermost", async () => {
      const { journey, atInner, took } = await nested();

      expect((await journey.run(null, atInner)).asks).toEqual(["one?"]);
      expect(took()).toEqual(["one"]);
    });
  });
}

/** The newest checkpoint of the subgraph that waits. One with a memory has it under its name alone. */
async function insideOf(journey: Journey, checkpointer: true | undefined): Promise<RunnableConfig> {
  if (checkpointer) return (await journey.within("sub")).config;
  const { tasks } = await journey.state(undefined, { subgraphs: true });
  return (tasks[0]!.state as { config: RunnableConfig }).config;
}

function trailOf(values: unknown): readonly string[] {
  return (values as { trail?: string[] }).trail ?? [];
}
