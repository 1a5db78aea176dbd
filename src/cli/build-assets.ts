/** Puts what is no TypeScript into `dist`: the last step of `npm run build`. */
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { pageBundle } from "../experiment/report/report-html.ts";
import { packDatabase } from "../storage/empty-database.ts";
import { PGliteConnection, PGlitePool } from "../storage/pglite-pool.ts";
import { createPGlite } from "../storage/pglite.ts";
import { DatabaseToolJournal } from "../storage/tool-journal.ts";

const project = new URL("../../", import.meta.url);
const built = (path: string) => fileURLToPath(new URL(`dist/${path}`, project));

for (const room of ["src", "checkpointers"]) {
  const from = fileURLToPath(new URL(room, project));
  cpSync(from, built(room), { recursive: true, filter: (path) => !path.endsWith(".ts") });
}

await build({
  ...pageBundle(built("src/experiment/report/page/")),
  outfile: built("src/experiment/report/page/page.bundle.js"),
});

const database = await createPGlite();
const connection = new PGliteConnection(
  async () => database,
  async () => {},
);
const pool = new PGlitePool(connection, 60_000, () => connection.close());
const checkpointer = await openCheckpointer({ pool });
await checkpointer.setup();
await new DatabaseToolJournal(pool, { serde: checkpointer.serde }).setup();
await packDatabase(database, new URL("dist/src/storage/empty-database.tar.br", project));
await pool.end();
