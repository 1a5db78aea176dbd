import type { ContextRequest, StepContext } from "../../compile/context-reader.ts";
import type { Goal, StepShown } from "../../context/context-metadata.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { InvalidRunOptionError } from "../errors.ts";

/** How a context is to be made, instead of as its node makes it. */
export type ContextWishes = Pick<ContextRequest, "goal" | "model" | "budget">;

export interface ContextOptions {
  readonly threadId: string;
  /**
   * The agent that the thread is of. Default: what is kept of it with the thread, whose schemas have lost their
   * `default`s and the order of their keys.
   */
  readonly definition?: AgentDefinition;
  /** 0-based. Default: the last turn; of a turn that has ended, with neither `turn` nor `step`, the one after it. */
  readonly turn?: number;
  /** `step_index` of a step of the turn. Default: the next one, and of a turn before the last its last one. */
  readonly step?: number;
  /**
   * Default: what the node makes its context for: `planning`, and `synthesis` where no steps are left. With `synthesis` it
   * is the request by which the step writes an answer from whole results: calls are told in words, and no tools offered.
   */
  readonly goal?: Goal;
  /** `provider:model`. Default: the model that the step was made by, else the definition's. */
  readonly model?: string;
  /** Tokens; at least 256. Default: what the definition says. */
  readonly budget?: number;
  /** What the next turn would be given. Default: in the standard loop its request is left out. */
  readonly input?: unknown;
  /** Of an agent inside of a node. Default: the thread itself. */
  readonly namespace?: string;
  /** Whether a definition that differs from the one the step was made under is fine. Default false. */
  readonly acceptChanges?: boolean;
}

export interface StepOfNode extends StepShown {
  /** Empty where it is not known. */
  readonly node: string;
}

/** What a model call of a thread reads: of a step that makes several, the one for its goal. */
export interface ThreadContext extends StepContext {
  readonly threadId: string;
  /** Empty for the thread itself. */
  readonly namespace: string;
  /** The checkpoint whose state it is made from. */
  readonly checkpointId: string;
  readonly turn: number;
  readonly attempt: number;
  /** `past`: the step was made, and this was read. `next`: the step would read this if the thread went on. */
  readonly tense: "past" | "next";
  /** The steps that are told, with the nodes that made them. */
  readonly steps: readonly StepOfNode[];
  /** Whether it is made from the definition that is kept with the thread. */
  readonly fromStored: boolean;
  /** Whether it is of a new turn whose request is not known, and left out. */
  readonly withoutRequest: boolean;
}

const leastBudget = 256;

/** @throws InvalidRunOptionError */
export function wishesIn(options: ContextOptions): ContextWishes {
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
