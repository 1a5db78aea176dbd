import { z } from "zod";

/** Matches `provider:model` for any provider. */
export const modelRefPattern = /^[^:\s]+:\S+$/;

export const modelRef = z
  .string()
  .regex(modelRefPattern, "expected provider:model, such as openai:gpt-4o-mini")
  .describe("provider:model");
