import { z } from "zod";
import type { JsonSchema } from "../../definition/json-schema.ts";
import { experimentSchema } from "./experiment-schema.ts";

/** JSON Schema of an experiment's config as it is written, for editors. */
export function experimentJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stratagraph experiment",
    ...(z.toJSONSchema(experimentSchema, { io: "input" }) as JsonSchema),
    anyOf: [
      { required: ["model_name"] },
      {
        required: ["matrix"],
        properties: { matrix: { type: "object", required: ["model_name"] } },
      },
    ],
  };
}
