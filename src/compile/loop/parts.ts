import type { BaseMessage } from "@langchain/core/messages";
import type { Clock, IdSource } from "../../clock.ts";
import type { StepForm, ToolForm } from "../../context/step-messages.ts";
import type { ResultSummariser } from "../../context/summarise/result-summariser.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { Rail } from "../../definition/rail.ts";
import type { AgentTool } from "../../definition/tool.ts";
import type { AgentRails } from "../../guardrails/create-rails.ts";
import type { AgentModel, ModelTool } from "../../models/agent-model.ts";
import type { GraphState, GraphUpdate, RunContext } from "../../state/channels.ts";
import type { Status } from "../../state/lifecycle.ts";
import type { Draft } from "../../state/turn.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import type { CallBounds } from "../../tools/admit-call.ts";
import type { ToolJournal } from "../../tools/journal.ts";
import type { Sandbox } from "../../tools/sandbox/sandbox.ts";
import type { Secrets } from "../../tools/secrets/secrets.ts";
import type { Marks } from "./marks.ts";

/** What the nodes of one agent's loop are made from: resolved once, when it is compiled. */
export interface LoopParts {
  readonly definition: AgentDefinition;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly journal?: ToolJournal | undefined;
  /** Whether a person has to approve the calls of a tool. */
  needsApproval(tool: string): boolean;
  /** What the agent itself thinks with: in the standard loop, for its approach, and to judge its answers. */
  readonly thinker: Thinker;
  /** What has large results summarised; null where they are not. */
  readonly summariser: ResultSummariser | null;
  /** Where secrets come from; left out, tools have none. */
  readonly secrets?: Secrets | undefined;
  /** Where sandboxed tools run; left out, these cannot be called. */
  readonly sandbox?: Sandbox | undefined;
  readonly embeddings: Embeddings;
  /** Those of the agent; inside of another, with those of the agents around that look at calls inside. */
  readonly rails: AgentRails;
  /**
   * What the agent lets be called, after what the agents around it do, outermost first. Empty for the graph of a planner
   * node, which is bounded as the agent that has the node.
   */
  readonly bounds: readonly ToolBounds[];
  /** A model that a rail asks, by its name. */
  railModel(ref: string, rail: Rail): Promise<AgentModel> | AgentModel;
  /** A turn's input as the person's message. */
  requestOf(input: unknown): string;
  /** Tier 1 at the start of a turn: checked and frozen. */
  initialExecution(input: unknown, rails: Marks): unknown;
  /** Tier 2 at the start of an attempt: checked and frozen. */
  initialAttempt(of: {
    readonly input: unknown;
    readonly execution: unknown;
    readonly attemptNumber: number;
    readonly rails: Marks;
  }): unknown;
  readonly attempts: AttemptShape;
}

/** What an agent lets be called, by itself and by everything inside of it: its tool rails and its permissions. */
export interface ToolBounds extends Omit<CallBounds, "values"> {
  readonly agent: string;
  /** Names of the tools whose calls a person has to approve. */
  readonly approval: readonly string[] | "all";
  readonly maxCalls: number | undefined;
}

/** A model with what it is told first and may call. */
export interface Thinker {
  /** The same array for every call, since models cache the binding by identity. */
  readonly modelTools: readonly ModelTool[];
  /** What these stand for, in the same order. */
  readonly candidates: readonly AgentTool[];
  /** The definition's model, or the one a run asks for instead. */
  model(context: RunContext | undefined): Promise<AgentModel> | AgentModel;
  /**
   * What every call begins with.
   * @param offered the tools of the request, where only some are offered and the model has to be told of them in text
   */
  opening(form: ToolForm, offered?: readonly ModelTool[]): readonly BaseMessage[];
  /** The same with fewer tools. */
  within(mayCall: (tool: AgentTool) => boolean): Thinker;
}

/** What lies between `plan` and `reflect`. */
export interface AttemptShape {
  /** The node that begins an attempt. */
  readonly node: string;
  /** Whether they make plans, which have channels of their own. */
  readonly plans?: true;
  /** How an attempt begins. */
  begin(
    status: Status,
    parts: Pick<LoopParts, "needsApproval">,
  ): { readonly update: Omit<GraphUpdate, "turn">; readonly goto: string };
  /** The nodes that are next while an attempt is under way, read from the state alone. */
  next(state: GraphState): readonly string[];
  /** What an attempt has come to; null while it is still under way on another branch. */
  draft(state: GraphState): Draft | null;
}

/** How steps are told in a request: providers refuse calls in one that offers no tools. */
export function stepFormOf(model: AgentModel, tools: readonly ModelTool[]): StepForm {
  if (!model.toolCalling) return "text";
  return tools.length === 0 ? "report" : "native";
}

export function toolFormOf(model: AgentModel): ToolForm {
  return model.toolCalling ? "native" : "text";
}
