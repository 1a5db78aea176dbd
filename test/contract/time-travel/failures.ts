import { GraphRecursionError } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import type { Travel } from "./journey.ts";
import { sideBySide } from "./branching-graphs.ts";
import { loopGraph } from "../time-travel-graph.ts";
import { afterOthers, chain, newSteps, wrote } from "./trail.ts";

/** Runs that stop short, and go on. */
export function failures(travel: Travel): void {
  describe("a node that fails beside others", () => {
    const failed = async () => {
      const { beside, step, took } = newSteps();
      let broken = true;
      const flaky = afterOthers(() => {
        const update = beside("middle")();
        if (broken) throw new Error("out of order");
        return update;
      });
      const journey = travel((checkpointer) =>
        sideBySide(
          { left: beside("left"), middle: flaky, right: beside("right"), join: step("join") },
          checkpointer,
        ),
      );
      expect(await journey.fail(wrote("in"))).toMatchObject({ message: "out of order" });
      expect(took()).toEqual(["left", "right", "middle"]);
      return { journey, took, mend: (): boolean => (broken = false) };
    };

    test("runs alone when the thread goes on", async () => {
      const { journey, took, mend } = await failed();
      expect((await journey.state()).tasks.map(({ error }) => Boolean(error))).toEqual([
        false,
        true,
        false,
      ]);
      mend();

      expect((await journey.run(null)).trail).toEqual([
        "in",
        "left1",
        "middle2",
        "right1",
        "join1",
      ]);
      expect(took()).toEqual(["middle", "join"]);
    });

    test("fails again and again without the others, until it is mended", async () => {
      const { journey, took, mend } = await failed();
      await journey.fail(null);
      await journey.fail(null);
      expect(took()).toEqual(["middle", "middle"]);
      mend();

      expect((await journey.run(null)).trail).toEqual([
        "in",
        "left1",
        "middle4",
        "right1",
        "join1",
      ]);
    });

    test("runs with the others in a replay and in a fork", async () => {
      const { journey, took, mend } = await failed();
      const start = await journey.before("middle");
      mend();
      const fork = await journey.update(wrote("fork"), start, "__start__");

      const forked = await journey.run(null, fork);
      const replayed = await journey.run(null, start);

      expect(forked.trail).toEqual(["in", "fork", "left2", "middle2", "right2", "join1"]);
      expect(replayed.trail).toEqual(["in", "left3", "middle3", "right3", "join2"]);
      expect(took()).toHaveLength(8);
    });
  });

  test("a fork that fails leaves the first branch, and goes on once it is mended", async () => {
    const { step, called } = newSteps();
    const journey = travel((checkpointer) =>
      chain(
        {
          a: step("a"),
          b: ({ last }) => {
            if (last === "bad") throw new Error("bad");
            return wrote(called("b"));
          },
        },
        { checkpointer },
      ),
    );
    const first = await journey.run(wrote("in"));
    const bad = await journey.update(wrote("bad"), await journey.before("b"));

    expect(await journey.fail(null, bad)).toMatchObject({ message: "bad" });
    expect((await journey.run(null, first)).values).toEqual(first.values);
    const good = await journey.update(wrote("good"), bad);

    expect((await journey.run(null, good)).trail).toEqual(["in", "a1", "bad", "good", "b2"]);
  });

  test("a node that is tried again within its step writes once", async () => {
    const { step, called } = newSteps();
    let tries = 0;
    const journey = travel((checkpointer) =>
      chain(
        {
          a: step("a"),
          b: () => {
            tries += 1;
            if (tries % 2 === 1) throw new Error("try again");
            return wrote(called("b"));
          },
        },
        { checkpointer, retry: { maxAttempts: 2, initialInterval: 1, logWarning: false } },
      ),
    );
    expect((await journey.run(wrote("in"))).trail).toEqual(["in", "a1", "b1"]);

    expect((await journey.run(null, await journey.before("b"))).trail).toEqual(["in", "a1", "b2"]);
  });

  describe("a loop", () => {
    const looped = async () => {
      const journey = travel((checkpointer) => loopGraph(checkpointer));
      const first = await journey.run({ topic: "cats", left: 4 });
      expect(first.values["lines"]).toEqual(["cats 4", "cats 3", "cats 2", "cats 1"]);
      return { journey, first };
    };

    test.each([0, 1, 2, 3])("is replayed from its round %i", async (round) => {
      const { journey, first } = await looped();

      const replayed = await journey.run(null, await journey.before("write", round));

      expect(replayed.values).toEqual(first.values);
    });

    test("is forked at each of its rounds, from the last to the first", async () => {
      const { journey } = await looped();

      for (const [round, topic] of [
        [3, "dogs"],
        [2, "owls"],
        [1, "apes"],
        [0, "eels"],
      ] as const) {
        const fork = await journey.update({ topic }, await journey.before("write", round));
        const { values } = await journey.run(null, fork);
        expect(values["lines"]).toEqual(
          [4, 3, 2, 1].map((left, index) => `${index < round ? "cats" : topic} ${left}`),
        );
      }
    });

    test("is made longer and shorter by forks", async () => {
      const { journey } = await looped();
      const start = await journey.before("write", 2);

      for (const left of [1, 12, 3]) {
        const { values } = await journey.run(null, await journey.update({ left }, start));
        expect(values["lines"]).toHaveLength(2 + left);
      }
    });
  });

  test("a run that its limit of steps ended goes on from there, and from before", async () => {
    const journey = travel((checkpointer) =>
      loopGraph(checkpointer).withConfig({ recursionLimit: 3 }),
    );
    expect(await journey.fail({ topic: "cats", left: 5 })).toBeInstanceOf(GraphRecursionError);

    expect((await journey.run(null)).values["lines"]).toHaveLength(5);
    const fork = await journey.update({ topic: "dogs" }, await journey.before("write", 2));
    expect((await journey.run(null, fork)).values["lines"]).toEqual([
      "cats 5",
      "cats 4",
      "dogs 3",
      "dogs 2",
      "dogs 1",
    ]);
  });
}
