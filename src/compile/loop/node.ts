import type { CallModel, ContextRun } from "./context.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { ComposedContext, Goal, ReasoningContext } from "../../context/reasoning-context.ts";
import type { AgentRails } from "../../guardrails/create-rails.ts";
import type { RailsOutcome } from "../../guardrails/run-rails.ts";
import type { GraphState, GraphUpdate, RunContext } from "../../state/channels.ts";
import type { AgentEventBody } from "../../state/events.ts";
import type { HumanRequest } from "../../state/human-request.ts";
import type { RailRecord, RailSide, Redactions } from "../../state/rails.ts";
import type { CurrentStep, ToolPrediction, ToolResult } from "../../state/step-record.ts";
import type { TurnState } from "../../state/turn.ts";
import type { Usage } from "../../state/usage.ts";
import type { CallFinding } from "../../tools/admit-call.ts";
import type { CallCount, CallOrigin } from "../run/turn-calls.ts";
import type { Redactor } from "../../state/rails.ts";
import type { AgentBounds, BoundsAround, LoopConfig, NodeMemories } from "./loop-config.ts";

/** The result of a node: its writes and the next nodes. */
export interface NodeResult {
  /** The usage of the run's calls is added to its usage, and new summaries to those of the thread. */
  readonly update: Omit<GraphUpdate, "turn">;
  readonly turn?: Partial<TurnState>;
  /** An empty list ends this branch of the run. */
  readonly goto: string | readonly string[];
}

/** The place of a node in its run. */
export interface NodePlace {
  /** The node's name. */
  readonly node: string;
  /** The agent nodes around it, outermost first. */
  readonly within: readonly string[];
  /** Number of the superstep in its thread. */
  readonly superstep: number;
  /** Supersteps that LangGraph's recursion limit leaves to this turn, including the current one. */
  readonly superstepsLeft: number;
  /** LangGraph's config for the node; pass it on to nested runs. */
  readonly config: RunnableConfig;
  /** Overrides of the definition for this run. */
  readonly context: RunContext | undefined;
  /** `turn.run` of the turn that a node begins. */
  readonly newTurnId: string;
  /** `turn.started_at` of that turn. */
  readonly newTurnStart: string;
}

/** The bounds of a node's tool calls. */
export interface NodeBounds {
  /** The bounds of the outer agents, outermost first. */
  readonly around: readonly AgentBounds[];
  /** The call count of the agent's turn. */
  readonly calls: CallCount;
  /** Returns the bounds of an agent that runs within the node, or within the handler of a tool that the node calls. */
  boundsInside(origin: CallOrigin): BoundsAround;
}

/** What a node leaves behind, however it ends. */
export interface NodeRecord {
  /** Results of this node's completed tool calls, stored if the node is interrupted. */
  readonly endedResults: ToolResult[];
  /** Steps that this node started itself, whose records are stored if it is interrupted. */
  readonly startedSteps: CurrentStep[];
  /** Counts the usage of nested work, regardless of the node's outcome. */
  addUsage(usage: Usage): void;
  /** The node's usage so far. */
  usage(): Usage;
  /**
   * Sets the update to write if the node is interrupted by a timeout, a cancellation or an error of the run; the last
   * call counts. A function is called only then.
   */
  onInterrupted(update: NodeResult["update"] | (() => NodeResult["update"])): void;
  /** `of` overrides the turn and attempt numbers while the state still has those of the last turn. */
  emit(body: AgentEventBody, of?: { turnNumber: number; attemptNumber: number }): void;
}

/** The context of a node's body, apart from the state. */
export interface NodeContext extends ContextRun, NodePlace, NodeBounds, NodeRecord {
  /** The agent's configuration, bounded by the outer agents. */
  readonly loop: LoopConfig;
  /** The rails of this node. */
  readonly rails: NodeRails;
  /** Null without long-term memory. */
  readonly memories: NodeMemories | null;
  /** Set in a dry run. */
  readonly probe?: ContextProbe | undefined;
  /**
   * Asks a person through a LangGraph interrupt: ends the run by throwing, or returns the answer when the run resumes
   * with one. The node then runs again from its beginning.
   */
  interrupt(request: HumanRequest): unknown;
}

export type NodeBody = (state: GraphState, run: NodeContext) => Promise<NodeResult> | NodeResult;

/**
 * Returns the update by which a node advances the turn, apart from its own work; null if it is not the node's turn.
 *
 * @param state with the values that an edit wrote in place of the node
 * @throws NoRouteError, ExpressionError
 */
export type AdvanceState = (
  state: GraphState,
  at: { readonly superstep: number; readonly loop: LoopConfig },
) => GraphUpdate | null;

/** Receives the context of a step in a dry run, which calls no model. */
interface ContextProbe {
  /** Overrides the node's own goal. */
  readonly goal?: Goal | undefined;
  /** @param step `step_index` of the record that the step will make */
  contextMade(context: ReasoningContext, step: number): void;
  /** Receives the goals of the step's requests, in order. Not called if that is `planning` alone. */
  goalsKnown(goals: readonly Goal[]): void;
}

interface ProbedRun {
  readonly probe?: ContextProbe | undefined;
}

/** Composes the context of a model call. A dry run may override its goal and receives the result. */
export async function probeContext(
  { probe }: ProbedRun,
  of: { readonly goal: Goal; readonly step: number },
  make: (goal: Goal) => Promise<ReasoningContext>,
): Promise<ReasoningContext> {
  const context = await make(probe?.goal ?? of.goal);
  probe?.contextMade(context, of.step);
  return context;
}

/** Reports the context of a step that decides itself which of its requests are shown. */
export async function probeFixedContext(
  { probe }: ProbedRun,
  step: number,
  context: Promise<ComposedContext>,
): Promise<ComposedContext> {
  const made = await context;
  probe?.contextMade(made, step);
  return made;
}

/** The position of a rail check in a turn. */
export interface RailPosition {
  readonly turnNumber: number;
  readonly attemptNumber: number;
  /** Null on input and output. */
  readonly stepIndex: number | null;
  readonly callId: string | null;
  /** The entry of long-term memory that is checked. */
  readonly memoryId?: string;
}

export interface RailCheck {
  readonly on: Exclude<RailSide, "tool_call">;
  /** The rails to run. Default: all on that side. */
  readonly rails?: keyof AgentRails;
  readonly value: unknown;
  readonly tool: string | null;
  /** The person's request. */
  readonly request: string;
  /** The evidence that an answer may rest on; empty on input and results. */
  readonly evidence: readonly string[];
  /** What came with the value and is not checked. Default: nothing. */
  readonly unchecked?: readonly string[];
  /** Whether the value was checked before, and its results are recorded. Default false. */
  readonly isRepeated?: boolean;
}

/** Runs the rails of one node, and collects their records and redactions until they are written. */
export interface NodeRails extends Redactor {
  /** Whether it knows no redactions and cannot make any. */
  readonly isIdle: boolean;
  check(of: RailCheck, place: RailPosition): Promise<RailsOutcome>;
  /** Records the findings of tool rails about a call. */
  recordFindings(
    call: ToolPrediction,
    findings: readonly CallFinding[],
    place: Omit<RailPosition, "callId">,
  ): void;
  /** Returns all redactions of the thread and of the outer agents. */
  redactions(): Redactions;
  /** Adds redactions that an interrupted run of this node made. */
  addRedactions(redactions: Redactions): void;
  /** Returns the node's writes. */
  update(): { readonly rails?: readonly RailRecord[]; readonly redactions?: Redactions };
}

export interface NodeRailsOptions {
  readonly loop: LoopConfig;
  readonly signal: AbortSignal;
  /** Redactions of the thread. */
  readonly redactions: Redactions;
  /** Redactions of the outer agents. */
  readonly inherited: Redactions;
  /** Suffix for the labels of new placeholders; set if concurrent nodes create some too. */
  readonly suffix?: string;
  readonly callModel: CallModel;
  readonly emit: (body: AgentEventBody, of: { turnNumber: number; attemptNumber: number }) => void;
}
