import { agentJsonSchema } from "../definition/agent-json-schema.ts";
import type { JsonSchema } from "../definition/json-schema.ts";
import { experimentJsonSchema } from "../experiment/config/experiment-json-schema.ts";
import { logJsonSchema } from "../experiment/log/log-json-schema.ts";

/** The files of `schema/`, and what makes each. */
export const publishedSchemas: Readonly<Record<string, () => JsonSchema>> = {
  "agent.schema.json": agentJsonSchema,
  "experiment.schema.json": experimentJsonSchema,
  "experiment-log.schema.json": logJsonSchema,
};
