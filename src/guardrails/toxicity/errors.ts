import { StratagraphError } from "../../errors.ts";

/** The moderation API could not be asked, or its answer could not be read. The message holds no header. */
export class ModerationError extends StratagraphError {
  readonly code = "moderation_failed";
  override readonly kind = "run";
  override readonly transient: boolean;
  readonly endpoint: string;
  /** HTTP status, where there was a response. */
  readonly status: number | null;

  constructor(
    facts: {
      readonly endpoint: string;
      readonly problem: string;
      readonly status?: number;
      readonly transient?: boolean;
    },
    options?: { cause?: unknown },
  ) {
    super(
      `The moderation API at ${facts.endpoint} did not check the text: ${facts.problem}.`,
      options,
    );
    this.endpoint = facts.endpoint;
    this.status = facts.status ?? null;
    this.transient = facts.transient ?? false;
  }
}
