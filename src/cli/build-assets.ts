/** Bundles the library into `dist`, and adds its assets: the last step of `npm run build`, after the declarations. */
import { cpSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { dropUnusedDatabases, packDatabase } from "../storage/empty-database.ts";
import { openDatabaseMemory } from "../storage/memory/database-memory.ts";
import { PGliteConnection, PGlitePool } from "../storage/pglite-pool.ts";
import { createPGlite } from "../storage/pglite.ts";
import { openPlatform } from "../storage/platform/open-platform.ts";
import { DatabaseToolJournal } from "../storage/tool-journal.ts";

const project = new URL("../../", import.meta.url);
const built = (path: string) => fileURLToPath(new URL(`dist/${path}`, project));

for (const room of ["src", "checkpointers"]) {
  const from = fileURLToPath(new URL(room, project));
  cpSync(from, built(room), { recursive: true, filter: (path) => !path.endsWith(".ts") });
}

/**
 * Few files load faster than many: an import takes a third less time. An asset is found from `dist` and the place of the
 * module that reads it, since its code may be in any chunk.
 */
await build({
  entryPoints: ["src/index.ts", "src/cli/main.ts", "checkpointers/index.ts"],
  absWorkingDir: fileURLToPath(project),
  outdir: "dist",
  outbase: ".",
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  plugins: [
    {
      name: "find assets from dist",
      setup(bundler) {
        bundler.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
          const source = await readFile(path, "utf8");
          const module = relative(fileURLToPath(project), path).replaceAll("\\", "/");
          const url = `(import.meta.url.slice(0, import.meta.url.lastIndexOf("/dist/") + 6) + ${JSON.stringify(module.replace(/\.ts$/, ".js"))})`;
          return { loader: "ts", contents: source.replaceAll("import.meta.url", url) };
        });
      },
    },
  ],
});

/** Declarations that the public ones refer to; the rest is of no use to consumers. */
const reached = new Set<string>();
const open = [built("src/index.d.ts"), built("checkpointers/index.d.ts")];
for (let file = open.pop(); file !== undefined; file = open.pop()) {
  if (reached.has(file)) continue;
  reached.add(file);
  const imports = (await readFile(file, "utf8")).matchAll(/(?:from |import\()"(\.[^"]+)\.[jt]s"/g);
  for (const [, path] of imports) open.push(join(dirname(file), `${path}.d.ts`));
}
for (const path of readdirSync(built(""), { recursive: true, encoding: "utf8" })) {
  if (path.endsWith(".d.ts") && !reached.has(built(path))) rmSync(built(path));
}

const database = await createPGlite();
await dropUnusedDatabases(database);
const connection = new PGliteConnection(
  async () => database,
  async () => {},
);
const pool = new PGlitePool(connection, 60_000, () => connection.close());
const checkpointer = await openCheckpointer({ pool }, { schema: "stratagraph" });
await checkpointer.setup();
await new DatabaseToolJournal(pool, { schema: "stratagraph", serde: checkpointer.serde }).setup();
await openDatabaseMemory({ pool }).setup();
await openPlatform({ pool });
await packDatabase(database, new URL("dist/src/storage/empty-database.tar.br", project));
await pool.end();
