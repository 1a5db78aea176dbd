import { z } from "zod";

/** `provider:model`, whatever the provider. */
export const modelRefPattern = /^[^:\s]+:\S+$/;

export const modelRef = z
  .string()
  .regex(modelRefPattern, "expected provider:model, such as openai:gpt-4o-mini")
  .describe("provider:model");
