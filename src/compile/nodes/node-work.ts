import type { Branch } from "../../state/branch.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type { Draft, TurnState } from "../../state/turn.ts";
import type { NodeRun } from "../loop/node-body.ts";
import type { ExpressionValues } from "./values.ts";

/** What a workflow node has at hand. */
export interface NodeAt {
  readonly state: GraphState;
  readonly run: NodeRun;
  /** What the branches that met here bring along. */
  readonly branch: Pick<Branch, "last" | "steps" | "open" | "since" | "rejections">;
  /** What expressions read: the variables by name. */
  readonly values: ExpressionValues;
  /** `step_index` of the record that this run of the node makes, if it makes one. */
  readonly stepIndex: number;
  /** Calls that nodes which run before this one in the same superstep are about to make. */
  readonly callsBeside: number;
  /** Whether other branches are under way. */
  readonly isParallel: boolean;
  /** Whether an edge of the node asks for this field of its output, and so takes care of it. */
  asks(field: string): boolean;
}

/** What a node gave. */
export interface NodeDone {
  /** Becomes `nodes.<name>`. */
  readonly output: Readonly<Record<string, unknown>>;
  /** What goes where the node `writes`; left out, nothing is written. */
  readonly value?: unknown;
  /** Written beside; tiers are given whole, and change by the keys that differ. */
  readonly update?: Omit<GraphUpdate, "turn" | "branches" | "nodes" | "status">;
  readonly turn?: Partial<TurnState>;
  /** What its branch carries on from here. */
  readonly branch?: Partial<Pick<Branch, "last" | "steps" | "open" | "rejections">>;
  /** It has to run once more before the branch goes on. */
  readonly again?: boolean;
}

/** An attempt that ends here, without another node: with the best answer there is, or the reason why there is none. */
export interface AttemptEnd {
  readonly end: Draft;
  readonly update?: NodeDone["update"];
}

/** What one type of node does. */
export type NodeWork = (at: NodeAt) => Promise<NodeDone | AttemptEnd> | NodeDone | AttemptEnd;
