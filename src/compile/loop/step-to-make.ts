import type { Goal, ReasoningContext } from "../../context/context-metadata.ts";
import { deepNotes, stuckNote } from "../../context/prompts.ts";
import type { SchemaCheck } from "../../definition/json-schema.ts";
import type { AgentModel, ModelTool } from "../../models/agent-model.ts";
import type { ExecutionMode, StepRecord, ToolSelectionRecord } from "../../state/step-record.ts";
import type { NodeRun } from "./node-body.ts";

/** A reasoning step that is about to be made. */
export interface StepToMake {
  readonly run: NodeRun;
  readonly model: AgentModel;
  readonly mode: ExecutionMode;
  readonly turnNumber: number;
  readonly attemptNumber: number;
  readonly stepIndex: number;
  /** The strategy of the attempt, which only deep steps make; else empty. */
  readonly approach: string;
  /** Why the step is made deep; empty where it is as deep as the definition says. */
  readonly stuck: string;
  /** The step before in this attempt. */
  readonly before: StepRecord | undefined;
  /** Steps of the turn whose results the model may note on, in order. */
  readonly behind: readonly StepRecord[];
  /** The same array for the same tools: see `offeredTools`. */
  readonly offered: readonly ModelTool[];
  /** How they were chosen; null where all tools are offered. */
  readonly selection: ToolSelectionRecord | null;
  /** What an answer has to fit; null where any text is one. */
  readonly answerSchema: SchemaCheck | null;
  /** Whether a call id was used before in this turn. */
  isUsed(id: string): boolean;
  /** What the model reads, with `note` said last; `tools` are what the request offers, none where they are left out. */
  read(note: string, goal: Goal, tools?: readonly ModelTool[]): Promise<ReasoningContext>;
}

/** What is said last to a model about its step: what deep steps left behind, and what is asked for. */
export function noteFor(
  step: StepToMake,
  said: { readonly planning?: string; readonly request?: string },
): string {
  const { mode, approach, before, stuck } = step;
  const last = mode === "deep" || before?.mode === "deep" ? before : undefined;
  const notes = deepNotes({
    approach,
    reflection: last?.reflection ?? "",
    hypothesis: last?.hypothesis ?? null,
    progress: last?.progress ?? "",
    planning: said.planning ?? "",
  });
  const why = stuck === "" ? "" : stuckNote(stuck);
  return [notes, why, said.request ?? ""].filter((part) => part !== "").join("\n\n");
}
