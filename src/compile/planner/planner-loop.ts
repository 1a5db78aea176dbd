import { planAnswer } from "../../planning/prompts.ts";
import { transition } from "../../state/lifecycle.ts";
import type { AgentGraph } from "../agent-graph.ts";
import type { GraphNode } from "../graph-builder.ts";
import type { AttemptShape } from "../loop/parts.ts";
import { noAnswer } from "../loop/reasoning.ts";
import type { PlannerNode } from "../plan/plan-node.ts";
import { turnNodes } from "../standard-loop.ts";
import { isSettled } from "../../state/subtask-state.ts";
import { attemptTier } from "./candidate.ts";
import { decompose } from "./decompose.ts";
import { execute } from "./execute.ts";
import { judge } from "./judge.ts";
import { isPlanned, planningOf } from "./planning-of.ts";
import type { PlannerParts, Worker } from "./planner-parts.ts";
import { synthesise } from "./synthesise.ts";

const begin = "begin";

/** `START → initialize → begin → decompose → execute → synthesise → judge → reflect → finalize → END`, round again for gaps. */
export function plannerLoop(parts: PlannerParts): readonly GraphNode[] {
  const { before, after } = turnNodes({ begin, first: "decompose" });
  const agents = [...parts.workers].flatMap(([name, worker]): [string, AgentGraph][] =>
    worker.kind === "agent" ? [[name, worker.agent.graph]] : [],
  );
  const gaps = parts.limits.maxDepth > 0 ? [{ to: "decompose", when: "gaps" }] : [];
  const replans = parts.limits.onFailure === "replan" ? gaps : [];
  return [
    ...before,
    {
      name: "decompose",
      type: "llm",
      description: "Breaks the task down into subtasks",
      body: decompose(parts),
      edges: [
        { to: "execute" },
        ...(gaps.length > 0
          ? [
              { to: "decompose", when: "cancelled before" },
              { to: "synthesise", when: "no plan for the gaps" },
              { to: "reflect", when: "no plan for the gaps" },
            ]
          : []),
      ],
    },
    {
      name: "execute",
      type: "planner",
      description: "Runs the subtasks on the workers",
      body: execute(parts),
      edges: [{ to: "synthesise" }, ...replans],
      workers: new Map(agents),
      endsItself: true,
    },
    {
      name: "synthesise",
      type: "llm",
      description: "Joins the results",
      body: synthesise(parts),
      edges: [{ to: "judge" }, { to: "reflect", when: "nothing came" }],
    },
    {
      name: "judge",
      type: "llm",
      description: "Lists what the result lacks",
      body: judge(parts),
      edges: [{ to: "reflect" }, ...gaps],
    },
    ...after,
  ];
}

export const plannerAttempts: AttemptShape = {
  node: begin,
  plans: true,
  begin: (status) => ({ update: { status: transition(status, "EXECUTING") }, goto: "decompose" }),
  next(state) {
    const planning = planningOf(state);
    if (attemptTier(state.attempt).candidate !== null) return ["judge"];
    if (!isPlanned(planning)) return ["decompose"];
    const due = Object.values(planning.subtasks).filter(({ depth }) => depth === planning.depth);
    return [due.every(isSettled) ? "synthesise" : "execute"];
  },
  draft: (state) => state.turn?.draft ?? noAnswer("the plan gave no result"),
};

/** Supersteps that a planner's turn may take, with room to spare. */
export function plannerLimit(
  { maxDepth }: Pick<PlannerNode, "maxDepth">,
  limits: { readonly max_attempts: number },
): number {
  return limits.max_attempts * ((maxDepth + 1) * 4 + 6) + 10;
}

/** @param workers at least one */
export function plannerParts(
  node: PlannerNode,
  workers: readonly Worker[],
  thinker: PlannerParts["thinker"],
): PlannerParts {
  const profiles = workers.map(({ profile }) => profile);
  return {
    limits: node,
    workers: new Map(workers.map((worker) => [worker.profile.name, worker])),
    profiles,
    answer: planAnswer(profiles),
    thinker,
  };
}
