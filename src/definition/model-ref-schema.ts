import { z } from "zod";

export const modelRef = z
  .string()
  .regex(/^[^:\s]+:\S+$/, "expected provider:model, such as openai:gpt-4o-mini")
  .describe("provider:model");
