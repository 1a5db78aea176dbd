import { describe, expect, it } from "vitest";
import { defineAgent } from "../../../src/index.ts";
import type { AgentEvent } from "../../../src/state/events.ts";
import { asGaps, asPlan, plannerReplies, runPlan } from "../../helpers/run-plan.ts";
import { planOf } from "../../helpers/subtasks.ts";

const agent = defineAgent({ name: "agent", description: "Helps." });

describe("the events of a planner", () => {
  const told = (events: readonly AgentEvent[]) =>
    events
      .filter(({ within }) => within.length === 1)
      .flatMap((event) => {
        if (event.type === "subtask_start") return [`start ${event.id} ${event.attempt}`];
        if (event.type === "subtask_end") return [`end ${event.id} ${event.subtask.status}`];
        if (event.type === "gap") return [`gap ${event.gaps.join()} ${event.replans}`];
        if (event.type === "synthesis") return [`synthesis ${event.text}`];
        if (event.type === "plan") return [`plan ${event.depth} ${event.levels.join("|")}`];
        return event.type === "done" ? [`done ${event.status}`] : [];
      });

  it("tell in order of plan, subtasks, result, gaps, and the plan that closes them", async () => {
    const { events } = await runPlan({
      plan: planOf({ a: "", b: "a" }),
      script: plannerReplies({
        "Judge the result": [asGaps("more"), asGaps()],
        "The results so far": asPlan(planOf({ c: "b" })),
      }),
    });
    expect(told(events)).toEqual([
      "plan 0 a|b",
      "start a 1",
      "end a done",
      "start b 1",
      "end b done",
      "synthesis Joined.",
      "gap more true",
      "plan 1 a|b|c",
      "start c 1",
      "end c done",
      "synthesis Joined.",
      "done COMPLETED",
    ]);
  });

  it("tell what its workers do, within the subtask", async () => {
    const { events } = await runPlan({
      workers: [agent],
      plan: planOf({ a: "" }, { worker: "agent" }),
      script: plannerReplies({ "Do a.": "done" }),
    });
    const inside = events.filter(({ within }) => within.length > 1);
    expect(new Set(inside.map(({ within }) => within.join("/")))).toEqual(
      new Set(["planner/execute/a"]),
    );
    expect(inside.map(({ type }) => type)).toContain("step");
  });
});
