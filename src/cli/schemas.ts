import { z } from "zod";
import { agentSpecSchema } from "../definition/schema/agent.ts";
import type { JsonSchema } from "../definition/schema/json-schema.ts";
import { experimentJsonSchema } from "../experiment/config/experiment-schema.ts";
import { logJsonSchema } from "../experiment/log/log-entry.ts";

/** The files of `schema/`, and what makes each. */
export const publishedSchemas: Readonly<Record<string, () => JsonSchema>> = {
  "agent.schema.json": agentJsonSchema,
  "experiment.schema.json": experimentJsonSchema,
  "experiment-log.schema.json": logJsonSchema,
};

/** JSON Schema of a definition as it is written, for editors. */
export function agentJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stratagraph agent definition",
    ...(z.toJSONSchema(agentSpecSchema, { io: "input" }) as JsonSchema),
  };
}
