import type { BaseMessage } from "@langchain/core/messages";
import type { ModelTool, StructuredAnswer } from "../../models/agent-model.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { RunningSummary } from "../../state/channels.ts";
import type { ContextSettings, Goal, ResultSummaryMade } from "../reasoning-context.ts";
import type { Observed } from "../step-note.ts";
import type { StepForm } from "../step-messages.ts";
import type { Transcript } from "../transcript.ts";

export interface ComposeOptions {
  readonly profile: ModelProfile;
  readonly goal: Goal;
  readonly settings: ContextSettings;
  readonly form: StepForm;
  /** What every call begins with: the system prompt and examples. */
  readonly opening: readonly BaseMessage[];
  /** What is remembered from elsewhere; after the opening. */
  readonly memory?: readonly BaseMessage[];
  /** The tools that the request offers. */
  readonly tools?: readonly ModelTool[];
  /** The schema of the reply, if one is bound. */
  readonly answer?: StructuredAnswer;
  readonly transcript: Transcript;
  /** What a model has written about the first turns. */
  readonly summary?: RunningSummary | null;
  /** What a model has made of large results, by `summaryKey`. */
  readonly summaries?: ReadonlyMap<string, string>;
  readonly summariesMade?: readonly ResultSummaryMade[];
  /** Steps with what later steps noted on their results. */
  readonly observed?: Observed;
}
