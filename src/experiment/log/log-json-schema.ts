import { z } from "zod";
import type { JsonSchema } from "../../definition/json-schema.ts";
import { logEntrySchema } from "./log-entry.ts";

/** JSON Schema of one line of a run's log, for who reads logs in other languages. */
export function logJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stratagraph experiment log line",
    ...(z.toJSONSchema(logEntrySchema) as JsonSchema),
  };
}
