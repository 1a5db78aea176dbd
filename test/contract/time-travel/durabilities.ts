import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { sideBySide } from "./branching-graphs.ts";
import { checkpointIdOf, type Travel, type TravelMode } from "./journey.ts";
import { afterOthers, chain, innerChain, newSteps, wrote } from "./trail.ts";

const answer = (resume: unknown) => new Command({ resume });

/** What is the same whenever a run writes its checkpoints: at each step, beside the next one, or when it ends. */
export function durabilities(travelIn: (mode: TravelMode) => Travel): void {
  describe.each(
    (["sync", "async", "exit"] as const).flatMap((durability) =>
      [false, true].map((restarts) => ({ durability, restarts })),
    ),
  )("durability $durability, restarts $restarts", (mode) => {
    const travel = travelIn(mode);

    test("turns are forked at their ends, and go on from each", async () => {
      const { step } = newSteps();
      const journey = travel((checkpointer) =>
        chain({ a: step("a"), b: step("b") }, { checkpointer }),
      );
      const one = await journey.run(wrote("one"));
      const two = await journey.run(wrote("two"));

      const other = await journey.run(wrote("other"), await journey.update(wrote("fork"), one));
      const more = await journey.run(wrote("more"), two);

      expect(other.trail).toEqual([...one.trail, "fork", "other", "a3", "b3"]);
      expect(more.trail).toEqual([...two.trail, "more", "a4", "b4"]);
    });

    test("the checkpoints between are there unless they are written when the run ends", async () => {
      const { step } = newSteps();
      const journey = travel((checkpointer) =>
        chain({ a: step("a"), b: step("b") }, { checkpointer }),
      );
      await journey.run(wrote("one"));

      expect(await journey.history()).toHaveLength(mode.durability === "exit" ? 1 : 4);
    });

    test("a question is answered, and differently in a fork", async () => {
      const { step, ask } = newSteps();
      const journey = travel((checkpointer) =>
        chain({ a: step("a"), ask: ask("ask"), b: step("b") }, { checkpointer }),
      );
      const asked = await journey.run(wrote("in"));
      expect(asked.asks).toEqual(["ask?"]);
      const yes = await journey.run(answer("yes"));

      const fork = await journey.update(wrote("fork"), asked);
      expect((await journey.run(null, fork)).asks).toEqual(["ask?"]);
      const no = await journey.run(answer("no"));

      expect(yes.trail).toEqual(["in", "a1", "ask:yes", "b1"]);
      expect(no.trail).toEqual(["in", "a1", "fork", "ask:no", "b2"]);
    });

    test("a question in a subgraph is answered, and asked again in a replay of the checkpoint that waits", async () => {
      const { step, ask } = newSteps();
      const journey = travel((checkpointer) =>
        chain(
          { a: step("a"), sub: innerChain({ s: step("s"), ask: ask("ask") }), b: step("b") },
          { checkpointer },
        ),
      );
      const asked = await journey.run(wrote("in"));
      const yes = await journey.run(answer("yes"));

      expect((await journey.run(null, await journey.update(null, asked))).asks).toEqual(["ask?"]);
      const no = await journey.run(answer("no"));

      expect(yes.trail).toEqual(["in", "a1", "s1", "ask:yes", "b1"]);
      expect(no.trail).toEqual(["in", "a1", expect.stringMatching(/^s\d$/u), "ask:no", "b2"]);
    });

    test("a step that failed goes on without the siblings that finished", async () => {
      const { beside, step, took } = newSteps();
      let broken = true;
      const journey = travel((checkpointer) =>
        sideBySide(
          {
            left: beside("left"),
            middle: afterOthers(() => {
              const update = beside("middle")();
              if (broken) throw new Error("out of order");
              return update;
            }),
            right: beside("right"),
            join: step("join"),
          },
          checkpointer,
        ),
      );
      expect(await journey.fail(wrote("in"))).toMatchObject({ message: "out of order" });
      took();
      broken = false;

      expect((await journey.run(null)).trail).toEqual([
        "in",
        "left1",
        "middle2",
        "right1",
        "join1",
      ]);
      expect(took()).toEqual(["middle", "join"]);
    });
  });

  test("a thread whose turns are written at different times is forked at each of them", async () => {
    const { step } = newSteps();
    const journey = travelIn({ durability: "exit", restarts: false })((checkpointer) =>
      chain({ a: step("a"), b: step("b") }, { checkpointer }),
    );
    const ends = [];
    for (const durability of ["exit", "async", "exit", "sync", "exit"] as const) {
      journey.setDurability(durability);
      ends.push(await journey.run(wrote(durability)));
    }

    for (const [turn, end] of ends.entries()) {
      const fork = await journey.update(wrote(`fork ${turn}`), end);
      expect((await journey.run(wrote("more"), fork)).trail.slice(0, -4)).toEqual(end.trail);
    }
    expect(new Set(ends.map((end) => checkpointIdOf(end))).size).toBe(5);
  });
}
