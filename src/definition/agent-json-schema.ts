import { z } from "zod";
import type { JsonSchema } from "./json-schema.ts";
import { agentSpecSchema } from "./schema.ts";

/** JSON Schema of a definition as it is written, for editors. */
export function agentJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stratagraph agent definition",
    ...(z.toJSONSchema(agentSpecSchema, { io: "input" }) as JsonSchema),
  };
}
