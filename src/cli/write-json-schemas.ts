/** Writes what is in `schema/`: `npm run schema`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { publishedSchemas } from "./schemas.ts";

const folder = new URL("../../schema/", import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [file, schema] of Object.entries(publishedSchemas)) {
  writeFileSync(new URL(file, folder), `${JSON.stringify(schema(), null, 2)}\n`);
}
