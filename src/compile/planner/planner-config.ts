import type { CodeWorker } from "../../definition/worker.ts";
import { StratagraphError } from "../../errors.ts";
import type { StructuredAnswer } from "../../models/agent-model.ts";
import type { WorkerProfile } from "../../planning/match-worker.ts";
import type { TurnFailure } from "../../state/turn.ts";
import type { BoundModel } from "../loop/context.ts";
import type { Subagent } from "../nodes/run-subagent.ts";
import type { PlannerNode } from "../workflow-plan.ts";

/** A worker for subtasks. */
export type Worker = { readonly profile: WorkerProfile } & (
  | { readonly kind: "agent"; readonly agent: Subagent }
  | { readonly kind: "code"; readonly code: CodeWorker }
);

/** The dependencies of one planner's nodes, resolved at compile time. */
export interface PlannerConfig {
  readonly limits: PlannerLimits;
  /** By name, in the order in which the model reads them; at least one. */
  readonly workers: ReadonlyMap<string, Worker>;
  readonly profiles: readonly WorkerProfile[];
  /** The schema of a model's plan. */
  readonly answer: StructuredAnswer;
  /**
   * The model that plans and judges. The agent's own model joins the results, because it knows the form of the output.
   */
  readonly boundModel: BoundModel;
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
  | "needsApproval"
>;

/** The input of a planner's graph. */
export interface PlannerInput {
  readonly message: string;
  /** A plan to run instead of a model's; null if the model plans. */
  readonly plan: unknown;
  /** Empty if the plan states the criteria. */
  readonly success_criteria: string;
}

/** Returns the task in the input of a planner's graph. */
export function taskIn(input: unknown): string {
  return (input as PlannerInput).message;
}

/** The planner of a node failed, and no edge of the node handles that. Its code is the cause of the failure. */
export class PlannerFailedError extends StratagraphError {
  readonly code: string;
  override readonly kind = "run";
  override readonly transient: boolean;

  constructor(
    readonly node: string,
    { cause, message, transient }: TurnFailure,
  ) {
    super(`Planner "${node}" failed: ${message}`);
    this.code = cause;
    this.transient = transient === true;
  }
}

/** An attempt of a subtask timed out. */
export class SubtaskTimeoutError extends StratagraphError {
  readonly code = "subtask_timeout";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(
    readonly subtask: string,
    readonly timeoutSeconds: number,
  ) {
    super(
      `The subtask took longer than its ${timeoutSeconds} s. Raise timeout_seconds of the planner, or plan smaller subtasks.`,
    );
  }
}

/** A worker's result exceeds the size limit. */
export class ResultTooLargeError extends StratagraphError {
  readonly code = "result_too_large";
  override readonly kind = "run";

  constructor(
    /** Size of its JSON in UTF-8 bytes; a lower bound if counting stopped at the limit. */
    readonly bytes: number,
    isCounted: boolean,
    readonly maxBytes: number,
  ) {
    const size = `${isCounted ? "" : "more than "}${bytes.toLocaleString("en")}`;
    super(
      `The result has ${size} bytes, the limit is ${maxBytes.toLocaleString("en")}. Raise max_result_bytes of the planner, or let the worker store it elsewhere and return a reference.`,
    );
  }
}
