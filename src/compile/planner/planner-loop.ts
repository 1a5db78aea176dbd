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
import { approvePlan } from "./approve-plan.ts";
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
  const withoutGapPlan = [
    { to: "synthesise", when: "no plan for the gaps" },
    { to: "reflect", when: "no plan for the gaps" },
  ];
  const { needsApproval } = planner.limits;
  const replans = planner.limits.onFailure === "replan" ? gaps : [];
  return [
    ...before,
    {
      name: "decompose",
      type: "llm",
      description: "Breaks the task down into subtasks",
      body: decompose(planner),
      edges: [
        ...(needsApproval ? [{ to: "approve" }] : []),
        { to: "execute", ...(needsApproval && { when: "approved before" }) },
        ...(gaps.length > 0
          ? [{ to: "decompose", when: "cancelled before" }, ...withoutGapPlan]
          : []),
      ],
    },
    ...(needsApproval
      ? [
          {
            name: "approve",
            type: "human" as const,
            description: "Asks a person to approve the plan",
            body: approvePlan(planner),
            edges: [
              { to: "execute" },
              { to: "decompose", when: "rejected" },
              ...(gaps.length > 0 ? withoutGapPlan : []),
            ],
          },
        ]
      : []),
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

/** A plan that needs approval is not executed before: its attempt stays PLANNING until then. */
export function plannerAttempts({
  needsApproval,
}: Pick<PlannerNode, "needsApproval">): AttemptShape {
  return {
    node: begin,
    plans: true,
    begin: (status) => ({
      update: needsApproval ? {} : { status: transition(status, "EXECUTING") },
      goto: "decompose",
    }),
    next(state) {
      const planning = readPlanningState(state);
      const { candidate, proposal } = attemptTier(state.attempt);
      if (candidate !== null) return ["judge"];
      if (!isPlanned(planning)) return [proposal?.plan == null ? "decompose" : "approve"];
      const due = Object.values(planning.subtasks).filter(({ depth }) => depth === planning.depth);
      return [due.every(isSettled) ? "synthesise" : "execute"];
    },
    draft: (state) => state.turn?.draft ?? failedDraft("the plan has no result"),
  };
}

/** Returns the recursion limit of a planner's turn, with room to spare. */
export function plannerLimit(
  { maxDepth, needsApproval }: Pick<PlannerNode, "maxDepth" | "needsApproval">,
  { max_attempts: most }: { readonly max_attempts: number },
): number {
  // Each plan may be rejected and made again.
  const perPlan = 4 + (needsApproval ? 2 * most : 0);
  return most * ((maxDepth + 1) * perPlan + 6) + 10;
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
