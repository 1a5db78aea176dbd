import { describe, expect, it } from "vitest";
import { planMermaid } from "../../../src/cli/draw/plan-mermaid.ts";
import { threadPlanOf } from "../../helpers/thread-plan.ts";
import { planOf, subtaskState } from "../../helpers/subtasks.ts";

const states = {
  split: subtaskState(0, 1),
  "count-lines": subtaskState(1, 3, {
    status: "failed",
    result: null,
    error: { code: "timeout", message: "It took too long." },
  }),
};
const found = threadPlanOf({
  plan: planOf({ split: "", "count-lines": "split", look: "", end: "look split" }),
  subtasks: states,
});

describe("plans as Mermaid text", () => {
  it("have a node for each subtask, coloured by its status, and thick lines along the longest way", () => {
    expect(planMermaid([found]).split("\n")).toEqual([
      "flowchart TD",
      '  split["`**✓ split**',
      'w · 1.0 s`"]:::is_done',
      '  count_lines["`**✗ count-lines**',
      'w · 2.0 s · failed (timeout)`"]:::is_failed',
      '  look["`**· look**',
      'w`"]:::is_pending',
      '  end_["`**· end**',
      'w`"]:::is_pending',
      "  split ==> count_lines",
      "  look --> end_",
      "  split --> end_",
      "  classDef is_pending fill:#f8fafc,stroke:#94a3b8,color:#334155",
      "  classDef is_done fill:#ecfdf5,stroke:#10b981,color:#064e3b",
      "  classDef is_failed fill:#fef2f2,stroke:#ef4444,color:#7f1d1d",
      "  classDef is_critical stroke-width:3px",
      "  class split,count_lines is_critical",
      "",
    ]);
  });

  it("have a box each where there are several, which hangs on the subtask around it", () => {
    const one = { plan: planOf({ split: "" }), subtasks: states };
    const plans = [
      threadPlanOf(one),
      threadPlanOf({ ...one, node: "survey", within: ["team", "execute", "split"] }),
    ];
    const lines = planMermaid(plans).split("\n");
    expect(lines.filter((line) => !line.includes("classDef"))).toEqual([
      "flowchart TD",
      '  subgraph team_["`**team**`"]',
      "    direction TB",
      '    team_split["`**✓ split**',
      'w · 1.0 s`"]:::is_done',
      "  end",
      '  subgraph team___split___survey_["`**team › split › survey**`"]',
      "    direction TB",
      '    team___split___survey_split["`**✓ split**',
      'w · 1.0 s`"]:::is_done',
      "  end",
      "  team_split -.- team___split___survey_",
      "  class team_split,team___split___survey_split is_critical",
      "  class team_,team___split___survey_ is_group",
      "",
    ]);
  });

  it("take nothing that is said for markup", () => {
    const bad = '"]:::x <b> `end` \u001B[2J';
    const plan = planOf({ [bad]: "" }, { worker: bad });
    const text = planMermaid([threadPlanOf({ plan, subtasks: {}, node: bad })]);
    expect(text.split("\n")[1]).toMatch(
      /^ {2}\w+\["`\*\*· #34;#93;:::x #60;b#62; #96;end#96;\*\*$/,
    );
  });
});
