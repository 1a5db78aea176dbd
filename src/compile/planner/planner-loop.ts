import { planAnswer } from "../../planning/prompts.ts";
import { transition } from "../../state/lifecycle.ts";
import type { AgentGraph } from "../agent-graph.ts";
import type { GraphNode } from "../graph-builder.ts";
import type { AttemptShape } from "../loop/loop-config.ts";
import { failedDraft } from "../loop/reasoning-step.ts";
import type { PlannerNode } from "../workflow-plan.ts";
import { turnNodes } from "../standard-loop.ts";
import { isSettled } from "../../state/plan.ts";
import { attemptTier, isPlanned, readPlanningState } from "./planning.ts";
import { decompose } from "./decompose.ts";
import { execute } from "./execute.ts";
import { judge, synthesise } from "./judge.ts";
import type { PlannerConfig, Worker } from "./planner-config.ts";

const begin = "begin";

/**
 * `START → initialize → begin → decompose → execute → synthesise → judge → reflect → finalize → END`, with a loop back
 * to `decompose` for gaps.
 */
export function plannerLoop(planner: PlannerConfig): readonly GraphNode[] {
  const { before, after } = turnNodes({ begin, first: "decompose" });
  const agents = [...planner.workers].flatMap(([name, worker]): [string, AgentGraph][] =>
    worker.kind === "agent" ? [[name, worker.agent.graph]] : [],
  );
  const gaps = planner.limits.maxDepth > 0 ? [{ to: "decompose", when: "gaps" }] : [];
  const replans = planner.limits.onFailure === "replan" ? gaps : [];
  return [
    ...before,
    {
      name: "decompose",
      type: "llm",
      description: "Breaks the task down into subtasks",
      body: decompose(planner),
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
      body: execute(planner),
      edges: [{ to: "synthesise" }, ...replans],
      workers: new Map(agents),
      endsItself: true,
    },
    {
      name: "synthesise",
      type: "llm",
      description: "Joins the results",
      body: synthesise(planner),
      edges: [{ to: "judge" }, { to: "reflect", when: "nothing came" }],
    },
    {
      name: "judge",
      type: "llm",
      description: "Lists what the result lacks",
      body: judge(planner),
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
    const planning = readPlanningState(state);
    if (attemptTier(state.attempt).candidate !== null) return ["judge"];
    if (!isPlanned(planning)) return ["decompose"];
    const due = Object.values(planning.subtasks).filter(({ depth }) => depth === planning.depth);
    return [due.every(isSettled) ? "synthesise" : "execute"];
  },
  draft: (state) => state.turn?.draft ?? failedDraft("the plan has no result"),
};

/** Returns the recursion limit of a planner's turn, with room to spare. */
export function plannerLimit(
  { maxDepth }: Pick<PlannerNode, "maxDepth">,
  limits: { readonly max_attempts: number },
): number {
  return limits.max_attempts * ((maxDepth + 1) * 4 + 6) + 10;
}

/** @param workers at least one */
export function plannerConfig(
  node: PlannerNode,
  workers: readonly Worker[],
  boundModel: PlannerConfig["boundModel"],
): PlannerConfig {
  const profiles = workers.map(({ profile }) => profile);
  return {
    limits: node,
    workers: new Map(workers.map((worker) => [worker.profile.name, worker])),
    profiles,
    answer: planAnswer(profiles),
    boundModel,
  };
}
