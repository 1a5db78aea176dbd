import type { CodeWorker } from "../../definition/worker.ts";
import type { WorkerProfile } from "../../planning/match-worker.ts";
import type { StructuredAnswer } from "../../models/agent-model.ts";
import type { Thinker } from "../loop/parts.ts";
import type { Subagent } from "../nodes/run-subagent.ts";
import type { PlannerNode } from "../plan/plan-node.ts";

/** One that does subtasks. */
export type Worker = { readonly profile: WorkerProfile } & (
  | { readonly kind: "agent"; readonly agent: Subagent }
  | { readonly kind: "code"; readonly code: CodeWorker }
);

/** What the nodes of one planner are made from, resolved when it is compiled. */
export interface PlannerParts {
  readonly limits: PlannerLimits;
  /** By name, in the order in which the model reads them; at least one. */
  readonly workers: ReadonlyMap<string, Worker>;
  readonly profiles: readonly WorkerProfile[];
  /** What a plan of the model has to be. */
  readonly answer: StructuredAnswer;
  /** Plans and judges; what joins the results is the agent's own thinker, which knows the form of the output. */
  readonly thinker: Thinker;
}

export type PlannerLimits = Pick<
  PlannerNode,
  | "maxSubtasks"
  | "maxParallel"
  | "maxDepth"
  | "timeoutSeconds"
  | "retries"
  | "maxResultBytes"
  | "onFailure"
>;
