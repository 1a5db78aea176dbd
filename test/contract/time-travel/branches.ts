import { Command, Send } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import type { Outcome, Travel } from "./journey.ts";
import { fanOut, routed, sideBySide, unequal } from "./branching-graphs.ts";
import { newSteps, wrote, wroteBeside } from "./trail.ts";

/** Steps of several nodes, and routes that depend on the state. */
export function branches(travel: Travel): void {
  describe("two questions and a step side by side", () => {
    const asking = async () => {
      const { step, ask, beside, took } = newSteps();
      const journey = travel((checkpointer) =>
        sideBySide(
          { left: ask("left"), middle: beside("middle"), right: ask("right"), join: step("join") },
          checkpointer,
        ),
      );
      const asked = await journey.run(wrote("in"));
      expect(asked.asks).toEqual(["left?", "right?"]);
      expect(took()).toEqual(["left", "middle", "right"]);
      return { journey, asked, took };
    };

    test("are answered at once by their ids", async () => {
      const { journey, asked, took } = await asking();

      const end = await journey.run(answers(asked, { "left?": "L", "right?": "R" }));

      expect(end.trail).toEqual(["in", "left:L", "middle1", "right:R", "join1"]);
      expect(took()).toEqual(["left", "right", "join"]);
    });

    test.each([
      ["left?", "right?"],
      ["right?", "left?"],
    ])("are answered one at a time, first %s", async (first, second) => {
      const { journey, asked, took } = await asking();

      const half = await journey.run(answers(asked, { [first]: 1 }));
      expect(half.asks).toEqual([second]);
      const end = await journey.run(answers(asked, { [second]: 2 }));

      const [left, right] = first === "left?" ? [1, 2] : [2, 1];
      expect(end.trail).toEqual(["in", `left:${left}`, "middle1", `right:${right}`, "join1"]);
      expect(took()).not.toContain("middle");
    });

    test("are both asked again in a replay, beside the step", async () => {
      const { journey, asked, took } = await asking();
      await journey.run(answers(asked, { "left?": "L", "right?": "R" }));
      took();

      const again = await journey.run(null, await journey.before("left"));
      expect(again.asks).toEqual(["left?", "right?"]);
      expect(took()).toEqual(["left", "middle", "right"]);
      const end = await journey.run(answers(again, { "left?": "l", "right?": "r" }));

      expect(end.trail).toEqual(["in", "left:l", "middle2", "right:r", "join2"]);
    });

    test("are both asked again in a fork that was made after one answer", async () => {
      const { journey, asked } = await asking();
      await journey.run(answers(asked, { "left?": "L" }));

      const fork = await journey.update(wrote("fork"), asked, "__start__");
      const again = await journey.run(null, fork);
      expect(again.asks).toEqual(["left?", "right?"]);
      const half = await journey.run(answers(again, { "right?": "r" }));
      expect(half.asks).toEqual(["left?"]);
      const end = await journey.run(answers(again, { "left?": "l" }));

      expect(end.trail).toEqual(["in", "fork", "left:l", "middle2", "right:r", "join1"]);
    });

    test("wait in two forks at once, which take each their own answers", async () => {
      const { journey, asked } = await asking();
      const forks = [
        await journey.update(wrote("x"), asked, "__start__"),
        await journey.update(wrote("y"), asked, "__start__"),
      ] as const;
      const [x, y] = [await journey.run(null, forks[0]), await journey.run(null, forks[1])];

      // A run from a checkpoint that the thread has moved past forks there: its questions wait at the fork.
      const xEnd = await journey.run(answers(x, { "left?": 1, "right?": 2 }), x);
      const yEnd = await journey.run(answers(y, { "left?": 3, "right?": 4 }), y);

      const middle = expect.stringMatching(/^middle\d$/u) as string;
      const join = expect.stringMatching(/^join\d$/u) as string;
      expect(xEnd.trail).toEqual(["in", "x", "left:1", middle, "right:2", join]);
      expect(yEnd.trail).toEqual(["in", "y", "left:3", middle, "right:4", join]);
    });
  });

  describe("a fan-out", () => {
    const fanned = async (work: "beside" | "ask" = "beside") => {
      const { step, called, ask, took } = newSteps();
      const journey = travel((checkpointer) =>
        fanOut(
          {
            plan: step("plan"),
            work: ({ item }) => (work === "ask" ? ask(item)() : wroteBeside(called(item))),
            join: step("join"),
          },
          checkpointer,
        ),
      );
      const first = await journey.run({ ...wrote("in"), items: ["x", "y", "z"] });
      return { journey, first, took };
    };

    test("is replayed from before its workers, with the items of then", async () => {
      const { journey, first, took } = await fanned();
      expect(first.trail).toEqual(["in", "plan1", "x1", "y1", "z1", "join1"]);
      took();

      const replayed = await journey.run(null, await journey.before("work"));

      expect(replayed.trail).toEqual(["in", "plan1", "x2", "y2", "z2", "join2"]);
      expect(took()).toEqual(["x", "y", "z", "join"]);
    });

    test("is replayed from after its workers without them", async () => {
      const { journey, took } = await fanned();
      took();

      const replayed = await journey.run(null, await journey.before("join"));

      expect(replayed.trail).toEqual(["in", "plan1", "x1", "y1", "z1", "join2"]);
      expect(took()).toEqual(["join"]);
    });

    test("fans out to other items in a fork", async () => {
      const { journey } = await fanned();
      const start = await journey.before("plan");

      const few = await journey.run(null, await journey.update({ items: ["q"] }, start));
      const many = await journey.run(
        null,
        await journey.update({ items: ["p", "x", "q", "x"] }, start),
      );

      expect(few.trail).toEqual(["in", "plan2", "q1", "join2"]);
      expect(many.trail).toEqual(["in", "plan3", "p1", "x2", "q2", "x3", "join3"]);
    });

    test("fans out anew when an update stands for the node before it", async () => {
      const { journey, took } = await fanned();
      took();

      const fork = await journey.update(
        { ...wrote("given"), items: ["q", "r"] },
        await journey.before("plan"),
        "plan",
      );

      expect((await journey.run(null, fork)).trail).toEqual(["in", "given", "q1", "r1", "join2"]);
      expect(took()).toEqual(["q", "r", "join"]);
    });

    test("waits for a person in each worker, answered one at a time, in each branch", async () => {
      const { journey, first, took } = await fanned("ask");
      expect(first.asks).toEqual(["x?", "y?", "z?"]);
      await journey.run(answers(first, { "y?": 1 }));
      await journey.run(answers(first, { "x?": 2 }));
      const end = await journey.run(answers(first, { "z?": 3 }));
      expect(end.trail).toEqual(["in", "plan1", "x:2", "y:1", "z:3", "join1"]);
      took();

      const again = await journey.run(null, await journey.before("work"));
      expect(again.asks).toEqual(["x?", "y?", "z?"]);
      const half = await journey.run(answers(again, { "x?": 4, "z?": 5 }));
      expect(half.asks).toEqual(["y?"]);
      const other = await journey.run(answers(again, { "y?": 6 }));

      expect(other.trail).toEqual(["in", "plan1", "x:4", "y:6", "z:5", "join2"]);
    });
  });

  describe("a node that chooses where to go", () => {
    const chosen = async () => {
      const { called, step, took } = newSteps();
      const journey = travel((checkpointer) =>
        routed(
          {
            choose: ({ to }) => new Command({ goto: to, update: wrote(called("choose")) }),
            left: step("left"),
            right: step("right"),
          },
          checkpointer,
        ),
      );
      const first = await journey.run({ ...wrote("in"), to: "left" });
      expect(first.trail).toEqual(["in", "choose1", "left1"]);
      took();
      return { journey, first, took };
    };

    test("goes the same way in a replay, and another in a fork", async () => {
      const { journey } = await chosen();
      const start = await journey.before("choose");

      const replayed = await journey.run(null, start);
      const forked = await journey.run(null, await journey.update({ to: "right" }, start));

      expect(replayed.trail).toEqual(["in", "choose2", "left2"]);
      expect(forked.trail).toEqual(["in", "choose3", "right1"]);
    });

    test("is not asked again after it chose, and goes nowhere where an update stands for it", async () => {
      const { journey, took } = await chosen();
      const start = await journey.before("left");

      const copied = await journey.run(null, await journey.update(null, start, "__copy__"));
      expect(copied.trail).toEqual(["in", "choose1", "left2"]);
      expect(took()).toEqual(["left"]);

      const updated = await journey.run(null, await journey.update(wrote("fork"), start));
      expect(updated.trail).toEqual(["in", "choose1", "fork"]);
      expect(took()).toEqual([]);
    });

    test("is overruled by a command that goes elsewhere from the end of a turn", async () => {
      const { journey, first, took } = await chosen();

      const { trail } = await journey.run(
        new Command({ goto: "right", update: wrote("sent") }),
        first,
      );

      expect(trail).toEqual(["in", "choose1", "left1", "sent", "right1"]);
      expect(took()).toEqual(["right"]);
    });

    test("is sent an item by a command", async () => {
      const { journey, first } = await chosen();

      const { trail } = await journey.run(
        new Command({ goto: new Send("choose", { to: "right" }) }),
        first,
      );

      expect(trail).toEqual(["in", "choose1", "left1", "choose2", "right1"]);
    });
  });

  test("a node that waits for two branches of unequal length waits in each fork on its own", async () => {
    const { step, beside, took } = newSteps();
    const journey = travel((checkpointer) =>
      unequal(
        {
          short: beside("short"),
          long1: beside("long1"),
          long2: step("long2"),
          join: step("join"),
        },
        checkpointer,
      ),
    );
    const first = await journey.run(wrote("in"));
    expect(first.trail).toEqual(["in", "long11", "short1", "long21", "join1"]);
    const start = await journey.before("long2");
    took();

    const forks = [
      await journey.update(wrote("x"), start, "long1"),
      await journey.update(wrote("y"), start, "long1"),
    ];
    const ends = [await journey.run(null, forks[1]), await journey.run(null, forks[0])];

    expect(ends.map(({ trail }) => trail.slice(3))).toEqual([
      ["y", "long22", "join2"],
      ["x", "long23", "join3"],
    ]);
    expect(took()).toEqual(["long2", "join", "long2", "join"]);
    expect((await journey.run(null, await journey.before("join"))).trail).toEqual([
      "in",
      "long11",
      "short1",
      "long21",
      "join4",
    ]);
  });
}

/** Answers by the questions, to the ids of those who ask. */
function answers(asked: Outcome, byQuestion: Readonly<Record<string, unknown>>): Command {
  const entries = asked.interrupts
    .filter(({ value }) => Object.hasOwn(byQuestion, value as string))
    .map(({ id, value }) => [id, byQuestion[value as string]]);
  return new Command({ resume: Object.fromEntries(entries) as Record<string, unknown> });
}
