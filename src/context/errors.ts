import { StratagraphError } from "../errors.ts";

/** Tokens of what always stays in a context, by section. */
export interface FixedTokens {
  readonly system: number;
  readonly tools: number;
  readonly memory: number;
  /** The current request, what an answer was refused for, and what is asked last. */
  readonly conversation: number;
  /** The last step, at its shortest, and unresolved errors. */
  readonly steps: number;
}

/** What always stays in a context is larger than its budget. Becomes the turn's failure. */
export class ContextOverflowError extends StratagraphError {
  readonly code = "context_overflow";
  override readonly kind = "run";
  /** `provider:model` */
  readonly model: string;
  /** Tokens of the model's window. */
  readonly window: number;
  /** Tokens that there are for messages and tools. */
  readonly budget: number;
  /** Tokens that they need at least. */
  readonly needed: number;
  readonly sections: FixedTokens;

  constructor(
    facts: Pick<ContextOverflowError, "model" | "window" | "budget" | "needed" | "sections">,
  ) {
    const { model, window, budget, needed, sections } = facts;
    const parts = Object.entries(sections)
      .filter(([, tokens]) => tokens > 0)
      .map(([name, tokens]) => `${name} ${tokens.toLocaleString("en")}`);
    super(
      `What has to stay in the context needs ${needed.toLocaleString("en")} tokens (${parts.join(", ")}); ` +
        `the budget for "${model}" is ${budget.toLocaleString("en")} of a window of ${window.toLocaleString("en")}. ` +
        "Shorten the request or the instructions, offer fewer tools, raise the budget or the utilization, or take a model with a larger window.",
    );
    this.model = model;
    this.window = window;
    this.budget = budget;
    this.needed = needed;
    this.sections = sections;
  }
}

/** An option of a context is out of range. */
export class InvalidContextOptionError extends StratagraphError {
  readonly code = "invalid_context_option";

  constructor(
    readonly option: string,
    readonly given: unknown,
    expected: string,
  ) {
    super(`The option ${option} of a context has to be ${expected}; got ${String(given)}.`);
  }
}
