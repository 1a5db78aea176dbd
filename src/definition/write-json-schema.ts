/** Writes `schema/agent.schema.json`: `npm run schema`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { agentJsonSchema } from "./agent-json-schema.ts";

const folder = new URL("../../schema/", import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(
  new URL("agent.schema.json", folder),
  `${JSON.stringify(agentJsonSchema(), null, 2)}\n`,
);
