import { describe, expect, it } from "vitest";
import { RunView } from "../../../../src/cli/view/run/run-view.ts";
import { createStyle, textWidth } from "../../../../src/cli/view/terminal.ts";
import type { AgentEventBody } from "../../../../src/state/events.ts";
import type { SubtaskState } from "../../../../src/state/plan.ts";
import { planOf, subtaskState } from "../../../helpers/subtasks.ts";
import { eventOf, resultOf, stepOf } from "../events.ts";

function viewOf(width = 80) {
  const view = new RunView({ width, style: createStyle(false), maxAttempts: 3 });
  const at =
    (within: readonly string[], node = "execute") =>
    (...events: AgentEventBody[]) =>
      events.flatMap((event) => view.event({ ...eventOf(event), node, within }));
  return { view, at, team: at(["team"]) };
}

type Plan = AgentEventBody & { type: "plan" };

const three: Plan = {
  type: "plan",
  plan: planOf({ split: "", "count-lines": "split", report: "split count-lines" }),
  levels: [["split"], ["count-lines"], ["report"]],
  subtasks: {},
  depth: 0,
};
const start = (id: string, attempt = 1): AgentEventBody => ({
  type: "subtask_start",
  id,
  worker: "w",
  attempt,
});
const end = (id: string, subtask: SubtaskState): AgentEventBody => ({
  type: "subtask_end",
  id,
  subtask,
});
const failed = (code: string, message: string): Partial<SubtaskState> => ({
  status: "failed",
  result: null,
  error: { code, message },
});
const skipped = (message: string): SubtaskState => ({
  ...subtaskState(0, 2, { status: "skipped", result: null, error: { code: "skipped", message } }),
  started_at: null,
});
const result = (id: string, name = "search", outcome: "success" | "error" = "success") =>
  ({
    type: "tool_result",
    step_index: 0,
    result: resultOf({ id, name, outcome, ...(outcome === "error" && { error: "No such place" }) }),
  }) as const;

describe("a plan, as a run tells of it", () => {
  it("is shown level by level, with workers and what each subtask needs", () => {
    const { team } = viewOf();
    expect(team(three)).toEqual([
      "     team  plan of 3 subtasks on 3 levels",
      "       1  split        w",
      "       2  count-lines  w  after split",
      "       3  report       w  after split, count-lines",
    ]);
  });

  it("says of a large one how much more there is", () => {
    const ids = Array.from({ length: 60 }, (_, index) => `part-${index}`);
    const plan = planOf(Object.fromEntries(ids.map((id) => [id, ""])));
    const lines = viewOf().team({ ...three, plan, levels: [ids] });
    expect(lines).toHaveLength(22);
    expect(lines.slice(-2)).toEqual(["          part-19  w", "       … and 40 more"]);
  });

  it("tells what begins and what comes of it, and sums it up when the results are joined", () => {
    const { team } = viewOf();
    team(three);
    const lines = team(
      start("split"),
      end("split", subtaskState(0, 1)),
      start("count-lines"),
      { type: "subtask_wait", id: "count-lines", waits_for: "retry", reason: "rate limit" },
      start("count-lines", 2),
      end("count-lines", subtaskState(1, 3.5, failed("timeout", "It took more\nthan 2 s."))),
      end("report", skipped("needs count-lines")),
      { type: "synthesis", text: "All in all." },
    );
    expect(lines).toEqual([
      "     ▸ split        w",
      "     ✓ split        w  1.0 s",
      "     ▸ count-lines  w",
      "     ↻ count-lines  w  retries: rate limit",
      "     ▸ count-lines  w  attempt 2",
      "     ✗ count-lines  w  2.5 s  failed (timeout): It took more than 2 s.",
      "     – report       w  skipped: needs count-lines",
      "     team  3 subtasks: 1 done, 1 failed, 1 skipped · 3.5 s · critical path 3.5 s",
    ]);
  });

  it("says how much time was saved", () => {
    const { team } = viewOf(200);
    const plan = planOf({ a: "", b: "", c: "a b" });
    team({ ...three, plan, levels: [["a", "b"], ["c"]] });
    const ends = [
      end("a", subtaskState(0, 2)),
      end("b", subtaskState(0.5, 4)),
      end("c", subtaskState(4, 5)),
    ];
    team(...ends);
    expect(team({ type: "synthesis", text: "" })).toEqual([
      "     team  3 subtasks: 3 done · 5.0 s · critical path 4.5 s · 1.5 s saved by running concurrently",
    ]);
  });

  it("shortens what a failure says, below it where there is no room beside", () => {
    const { team } = viewOf(60);
    team(three);
    const lines = team(end("split", subtaskState(0, 1, failed("error", "word ".repeat(500)))));
    expect(lines).toEqual([
      "     ✗ split        w  1.0 s",
      "       failed (error): word word word word word word word",
      "       word word word word word word word word word word…",
    ]);
  });

  it("says who waits for a person, and shows on going on only that it does", () => {
    const { team } = viewOf();
    team(three, start("split"), end("split", subtaskState(0, 1)), start("count-lines"));
    expect(
      team({ type: "subtask_wait", id: "count-lines", waits_for: "person", reason: "Send it?" }),
    ).toEqual(["     ? count-lines  w  waits for a person: Send it?"]);
    expect(
      team({ ...three, subtasks: { split: subtaskState(0, 1) } }, start("count-lines")),
    ).toEqual(["     team  resumes: 1 of 3 subtasks done", "     ▸ count-lines  w"]);
  });

  it("shows what is left of a plan that another run has begun", () => {
    expect(viewOf().team({ ...three, subtasks: { split: subtaskState(0, 1) } })).toEqual([
      "     team  plan of 2 subtasks, 1 already settled",
      "       2  count-lines  w  after split",
      "       3  report       w  after split, count-lines",
    ]);
  });

  it("tells of gaps, and of the plan for them", () => {
    const { team } = viewOf();
    team(three);
    const gaps = ["No sources", "No dates"];
    const plan = planOf({ split: "", "count-lines": "split", report: "split", dates: "split" });
    const done = Object.fromEntries(
      ["split", "count-lines", "report"].map((id) => [id, subtaskState(0, 1)]),
    );
    expect([
      ...team({ type: "gap", gaps, replans: true }),
      ...team({ ...three, plan, levels: [["split"], ["dates"]], subtasks: done, depth: 1 }),
      ...team({ type: "gap", gaps: ["No dates"], replans: false }),
      ...team({ type: "gap", gaps: [], replans: false }),
    ]).toEqual([
      "     ! team: 2 gaps; replanning",
      "       - No sources",
      "       - No dates",
      "     team  plan 1 for gaps: 1 subtask, 3 already settled",
      "       2  dates  w  after split",
      "     ! team: 1 gap; not replanning",
      "       - No dates",
      "     ✓ team: no gaps",
    ]);
  });

  it("shows of workers that run beside each other what stands alone, and whose it is", () => {
    const { at, team } = viewOf();
    team(three);
    const split = at(["team", "execute", "split"], "reason");
    const lines = [
      ...split({ type: "thought", step_index: 0, text: "I look." }),
      ...split({ type: "tool_call", step_index: 0, call: { ...resultOf({}), reason: "" } }),
      ...split(result("call_1"), result("call_2", "read", "error")),
      ...split({
        type: "step",
        step: stepOf({ thought: "I look.", problem: "Say Action: first." }),
      }),
      ...at(
        ["team", "execute", "count-lines"],
        "found",
      )({
        type: "node",
        output: { choice: "some" },
        next: ["answer"],
      }),
      ...split({
        type: "attempt_failed",
        attempt: { attempt_number: 0, errors: ["no source"], answer: null },
      }),
    ];
    expect(lines).toEqual([
      '       split › ✓ search(query: "tides")  12 ms',
      '       split › ✗ read(query: "tides")  12 ms · error',
      "           No such place",
      "     ! split: Say Action: first.",
      "     count-lines › found → answer (some)",
      "     ✗ split: attempt 1 refused",
      "       - no source",
    ]);
  });

  it("keeps planners inside of workers apart", () => {
    const { at, team, view } = viewOf();
    team(three, start("split"));
    const path = ["team", "execute", "split", "survey"];
    const inner = at(path);
    const plan = planOf({ split: "" });
    expect([
      ...inner({ ...three, plan, levels: [["split"]] }, start("split")),
      ...at([...path, "execute", "split"], "reason")(result("call_1")),
    ]).toEqual([
      "     split › survey  plan of 1 subtask",
      "       1  split  w",
      "     ▸ split › survey › split  w",
      '       split › survey › split › ✓ search(query: "tides")  12 ms',
    ]);
    expect(view.activity).toBe("0 of 3 subtasks done, 1 running");
    expect(view.subtasks).toEqual(["split  w", "split › survey › split  w"]);
    expect(inner(end("split", subtaskState(0, 1)), { type: "synthesis", text: "" })).toEqual([
      "     ✓ split › survey › split  w  1.0 s",
      "     split › survey  1 subtask: 1 done · 1.0 s · critical path 1.0 s",
    ]);
    expect(team(end("split", subtaskState(0, 2)))).toEqual(["     ✓ split        w  2.0 s"]);
  });

  it("names planners that run beside each other", () => {
    const { at, team } = viewOf();
    const other = at(["others"]);
    team(three);
    other(three);
    expect([...team(start("split")), ...other(start("split"))]).toEqual([
      "     ▸ team › split  w",
      "     ▸ others › split  w",
    ]);
  });

  it("has no name to say of a planner that is the graph itself", () => {
    const { at } = viewOf();
    const lines = [
      ...at([])(three),
      ...at(["execute", "split"], "reason")(result("call_1")),
      ...at([])(end("split", subtaskState(0, 1))),
    ];
    expect(lines[0]).toBe("     plan of 3 subtasks on 3 levels");
    expect(lines.slice(-2)).toEqual([
      '       split › ✓ search(query: "tides")  12 ms',
      "     ✓ split        w  1.0 s",
    ]);
  });

  it("knows how far it is", () => {
    const { team, view } = viewOf();
    const after = (...events: AgentEventBody[]) => {
      team(...events);
      return [view.activity, ...view.subtasks];
    };
    team({ type: "status", status: "EXECUTING" });
    expect(view.activity).toBe("thinking");
    expect(after(three)).toEqual(["0 of 3 subtasks done"]);
    expect(after(start("split"))).toEqual(["0 of 3 subtasks done, 1 running", "split  w"]);
    expect(after(end("split", subtaskState(0, 1)), start("count-lines"), start("report"))).toEqual([
      "1 of 3 subtasks done, 2 running",
      "count-lines  w",
      "report  w",
    ]);
    const fails = end("count-lines", subtaskState(0, 1, failed("error", "down")));
    expect(after(fails)).toEqual(["1 of 3 subtasks done, 1 failed, 1 running", "report  w"]);
    const waits = { type: "subtask_wait", id: "report", waits_for: "person", reason: "" } as const;
    expect(after(waits)).toEqual(["thinking"]);
  });

  it("shows subtasks that the end of the run cut off, and what there was", () => {
    const { team, view } = viewOf();
    team(three, start("split"), end("split", subtaskState(0, 1)), start("count-lines"));
    expect(view.end()).toEqual([
      "     ■ count-lines  w  interrupted",
      "     team  3 subtasks: 1 done · 1.0 s",
    ]);
    expect(view.end()).toEqual([]);
  });

  it("tells of the planner's own steps what its events do not", () => {
    const { at } = viewOf();
    const asked = stepOf({
      next_action: "continue",
      thought: "split: Do split.",
      problem: "a cycle",
    });
    const ran = stepOf({ step_index: 1, tool_results: [resultOf({})] });
    expect([
      ...at(["team"], "decompose")({ type: "step", step: asked }),
      ...at(["team"], "decompose")(three).slice(0, 2),
      ...at(["team"])({ type: "step", step: ran }),
      ...at(["team"], "synthesise")({ type: "step", step: stepOf({ thought: "All in all." }) }),
    ]).toEqual(["     ! team › decompose: a cycle", "     team  plan of 3 subtasks on 3 levels"]);
  });

  it("shows a step of another node that is called as the planner's is", () => {
    const { at, view } = viewOf();
    const decompose = at([], "decompose");
    const step = stepOf({ thought: "I take it apart." });
    expect(decompose({ type: "step", step })).toEqual([]);
    expect(decompose({ type: "status", status: "REFLECTING" })).toEqual([
      "  1  decompose",
      "     I take it apart.",
    ]);
    decompose({ type: "step", step: { ...step, step_index: 1 } });
    expect(view.end()).toEqual(["  2  decompose", "     I take it apart."]);
  });

  it("knows workers of a plan that another run has told", () => {
    const { at, team, view } = viewOf();
    expect([
      ...team(start("split")),
      ...at(["team", "execute", "split"], "reason")(result("call_1")),
    ]).toEqual(["     ▸ split  w", '       split › ✓ search(query: "tides")  12 ms']);
    expect(view.activity).toBe("1 subtask running");
    expect(team(end("split", subtaskState(0, 1)))).toEqual(["     ✓ split  w  1.0 s"]);
    expect(view.end()).toEqual([]);
  });

  it("names the step again that goes on after it", () => {
    const { team, view } = viewOf();
    const look = (event: AgentEventBody) => view.event({ ...eventOf(event), node: "look" });
    look({ type: "thought", step_index: 0, text: "I look." });
    const call = resultOf({});
    expect([
      ...look({ type: "tool_call", step_index: 0, call: { ...call, reason: "" } }),
      ...team(three).slice(0, 1),
      ...look(result("call_1")),
    ]).toEqual([
      "  1  look",
      "     I look.",
      "     team  plan of 3 subtasks on 3 levels",
      "     look",
      '     ✓ search(query: "tides")  12 ms',
      "       High at noon.",
    ]);
  });

  it.each([60, 80])("fits into %i columns, and does not act on the terminal", (width) => {
    const { at } = viewOf(width);
    const bad = "\u001B[2J日本語".repeat(40);
    const team = at([bad]);
    const plan = planOf({ [bad]: "", [`${bad}2`]: bad }, { worker: bad });
    const lines = [
      ...team({ ...three, plan, levels: [[bad], [`${bad}2`]] }),
      ...team(
        { ...start(bad), worker: bad } as AgentEventBody,
        { type: "subtask_wait", id: bad, waits_for: "person", reason: bad },
        end(bad, subtaskState(0, 1, { ...failed(bad, bad), worker: "w" })),
        { type: "gap", gaps: [bad], replans: true },
        { type: "synthesis", text: bad },
      ),
      ...at([bad, "execute", bad], bad)(result("call_1")),
    ];
    expect(lines.filter((line) => textWidth(line) > width)).toEqual([]);
    expect(lines.join("\n")).not.toMatch(/[^\P{Cc}\n]/u);
  });
});
