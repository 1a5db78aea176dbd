import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { ContextRequest, StepContext } from "../../compile/context-inspector.ts";
import type { Goal, StepShown } from "../../context/reasoning-context.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { StratagraphError } from "../../errors.ts";
import type { GraphState } from "../../state/channels.ts";
import type { CurrentStep } from "../../state/step-record.ts";
import { InvalidRunOptionError } from "../errors.ts";

/** Overrides for composing a context. */
export type ContextOverrides = Pick<ContextRequest, "goal" | "model" | "budget">;

export interface ContextOptions {
  readonly threadId: string;
  /**
   * The agent of the thread. Default: the definition stored with the thread, whose schemas have lost their `default`s
   * and key order.
   */
  readonly definition?: AgentDefinition;
  /** 0-based. Default: the last turn; if that has ended and neither `turn` nor `step` is given, the turn after it. */
  readonly turn?: number;
  /** `step_index` of a step of the turn. Default: the next step; for a turn before the last, its last step. */
  readonly step?: number;
  /**
   * Default: the goal of the node itself: `planning`, or `synthesis` if no steps are left. With `synthesis` it is the
   * request by which the step writes an answer from whole results: calls are rendered as text, and no tools are
   * offered.
   */
  readonly goal?: Goal;
  /** `provider:model`. Default: the model that made the step, else the definition's. */
  readonly model?: string;
  /** Tokens; at least 256. Default: what the definition says. */
  readonly budget?: number;
  /** The input of the next turn. Default: none; in the standard loop the request is left out. */
  readonly input?: unknown;
  /** Whose memories the next turn reads. Default: those that all users share. */
  readonly user?: string;
  /** The checkpoint namespace of a nested agent. Default: the thread itself. */
  readonly namespace?: string;
  /** Whether to accept a definition that differs from the one the step was made under. Default false. */
  readonly acceptChanges?: boolean;
}

export interface StepOfNode extends StepShown {
  /** Empty if it is not known. */
  readonly node: string;
}

/** The context of a model call of a thread. A step may make several calls; this one is for its goal. */
export interface ThreadContext extends StepContext {
  readonly threadId: string;
  /** Empty for the thread itself. */
  readonly namespace: string;
  /** The checkpoint with the state it was composed from. */
  readonly checkpointId: string;
  readonly turn: number;
  readonly attempt: number;
  /** `past`: the step was made and read this. `next`: the step would read this if the thread resumed now. */
  readonly tense: "past" | "next";
  /** The rendered steps, with the nodes that made them. */
  readonly steps: readonly StepOfNode[];
  /** Whether it was composed from the definition stored with the thread. */
  readonly fromStored: boolean;
  /** Whether it is of a new turn whose request is unknown and left out. */
  readonly withoutRequest: boolean;
}

const leastBudget = 256;

/** @throws InvalidRunOptionError */
export function readContextOverrides(options: ContextOptions): ContextOverrides {
  const { turn, step, goal, model, budget } = options;
  for (const [name, value] of Object.entries({ turn, step })) {
    if (value !== undefined && !(Number.isInteger(value) && value >= 0)) {
      throw new InvalidRunOptionError(name, "expected a whole number from 0");
    }
  }
  if (goal !== undefined && goal !== "planning" && goal !== "synthesis") {
    throw new InvalidRunOptionError("goal", "expected planning or synthesis");
  }
  if (budget !== undefined && !(Number.isInteger(budget) && budget >= leastBudget)) {
    throw new InvalidRunOptionError("budget", `expected a whole number from ${leastBudget}`);
  }
  return { goal, model, budget };
}

/** A step of a turn, for error messages. */
export interface KnownStep {
  readonly step: number;
  readonly node: string;
}

/** The thread has no such turn. */
export class UnknownTurnError extends StratagraphError {
  readonly code = "unknown_turn";

  constructor(
    readonly threadId: string,
    readonly turn: number,
    /** Number of turns in the thread. */
    readonly turns: number,
  ) {
    const known =
      turns === 0
        ? "It has none yet."
        : turns === 1
          ? "It has only turn 0."
          : `It has turns 0 to ${turns - 1}.`;
    super(`Thread "${threadId}" has no turn ${turn}. ${known}`);
  }
}

/** The turn has no such step. */
export class UnknownStepError extends StratagraphError {
  readonly code = "unknown_step";

  constructor(
    readonly threadId: string,
    readonly turn: number,
    readonly step: number,
    /** The steps of the turn. */
    readonly steps: readonly KnownStep[],
  ) {
    const list = steps.map((one) => `${one.step} (${one.node})`).join(", ");
    const known = list === "" ? "It has none yet." : `It has ${list}.`;
    super(`Turn ${turn} of thread "${threadId}" has no step ${step}. ${known}`);
  }
}

/** The context of a step cannot be rebuilt because its checkpoint is not stored. */
export class ContextNotStoredError extends StratagraphError {
  readonly code = "context_not_stored";

  constructor(
    readonly threadId: string,
    readonly turn: number,
    readonly step: number,
  ) {
    super(
      `The checkpoint that step ${step} of turn ${turn} of thread "${threadId}" was made from is not stored: it was pruned, or the agent stores one checkpoint per turn (checkpoint_frequency: every_turn).`,
    );
  }
}

/** No agent was given, and its definition is not stored with the thread. */
export class DefinitionNotStoredError extends StratagraphError {
  readonly code = "definition_not_stored";

  constructor(readonly threadId: string) {
    super(
      `The definition of the agent of thread "${threadId}" is not stored with it. Pass the agent itself.`,
    );
  }
}

/** No model call happens at this position. */
export class NothingReadError extends StratagraphError {
  readonly code = "nothing_read";

  constructor(
    readonly threadId: string,
    /** A complete sentence. */
    readonly reason: string,
  ) {
    super(`No model call in thread "${threadId}" at this position: ${reason}`);
  }
}

/**
 * Returns the steps of a turn that a model or the definition made, including those with pending calls, by `step_index`.
 */
export function modelSteps(state: GraphState, turn: number): readonly CurrentStep[] {
  const open = state.branches.flatMap((branch) => branch.open);
  const current = state.current_step ?? null;
  const all: readonly CurrentStep[] = [
    ...state.steps,
    ...open,
    ...(current === null ? [] : [current]),
  ];
  const own = all.filter(({ turn_number }) => turn_number === turn);
  return [...new Map(own.map((step) => [step.step_index, step])).values()].toSorted(
    (a, b) => a.step_index - b.step_index,
  );
}

/** Returns whether a step was made by a model call. */
export function isOfModel({ model }: Pick<CurrentStep, "model">): boolean {
  return model !== "";
}

/** Returns the `provider:model` that was requested for a step, before any fallback. */
export function chosenModel({ model, fallback }: CurrentStep): string {
  return fallback?.from ?? model;
}

/** Returns whether the answer of a step was written a second time, not counting its plan and its reflection. */
export function isWrittenTwice(step: CurrentStep): boolean {
  const { mode, reflection, tool_predictions, usage } = step;
  const others = (mode === "deep" ? 1 : 0) + (reflection === "" ? 0 : 1);
  return tool_predictions.length === 0 && usage.llm_calls > 1 + others;
}

/** A message in a plain form, as chat formats have it. */
export interface PlainMessage {
  readonly role: string;
  /** Text, or parts where it is more than text. */
  readonly content: unknown;
  readonly tool_calls?: readonly { id?: string; name: string; args: unknown }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

const roles: Readonly<Record<string, string>> = { human: "user", ai: "assistant" };

export function plainMessage(message: BaseMessage): PlainMessage {
  const { content, name } = message;
  const type = message.getType();
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  return {
    role: roles[type] ?? type,
    content,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name: tool, args }) => {
        return { ...(id !== undefined && { id }), name: tool, args };
      }),
    }),
    ...(ToolMessage.isInstance(message) && { tool_call_id: message.tool_call_id }),
    ...(name !== undefined && name !== "" && { name }),
  };
}
