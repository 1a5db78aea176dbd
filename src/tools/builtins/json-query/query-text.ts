import { z } from "zod";

/** The `query` of a tool's input. */
export const queryText = z
  .string()
  .min(1)
  .max(4_000)
  .describe("JMESPath, such as people[?age > `30`].name or sort_by(items, &price)[-1]");
