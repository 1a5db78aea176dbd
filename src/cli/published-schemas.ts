import { agentJsonSchema } from "../definition/agent-json-schema.ts";
import type { JsonSchema } from "../definition/json-schema.ts";
import { logJsonSchema } from "../experiment/log/log-json-schema.ts";

/** The files of `schema/`, and what makes each. */
export const publishedSchemas: Readonly<Record<string, () => JsonSchema>> = {
  "agent.schema.json": agentJsonSchema,
  "experiment-log.schema.json": logJsonSchema,
};
