import { readdirSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build as bundle } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The folder of this test run's bundles, from the root of the repository. Worker processes inherit the variable. */
const folder = (process.env["TEST_PROGRAMS"] ??= `coverage/programs-${process.pid}`);

/** Returns the JavaScript file to run for a program, which is a path from the root of the repository. */
export function bundledProgram(program: string): string {
  return join(root, folder, program.replace(/\.ts$/, ".js"));
}

/** The option of V8 for programs that end soon: it spends no time on faster code for PGlite's WebAssembly. */
export const shortLived = "--liftoff-only";

/** Packages that read files of their own, start threads or are optional. */
const apart =
  /^(?:@bufbuild\/re2|@electric-sql|@jitl|@langchain\/mcp|@lat\.md|@mermaid-js|@modelcontextprotocol|chokidar|eld|esbuild|graphile-worker|libphonenumber-js|markdownlint|obscenity|open|pg-native|pino|playwright-core|quickjs|tsx|vite)(?:[-/]|$)/;

/**
 * Bundles the programs that tests run in processes of their own. A bundle loads in a third of the time that the sources
 * take under tsx, and in a fifth with packages inside. The programs of tests have them; others share packages with the
 * modules of users that they load.
 */
export async function bundlePrograms(): Promise<void> {
  const ofTests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((file) => posix.join("test", file.replaceAll("\\", "/")))
    .filter((file) => /\/programs\/[^/]+\.ts$/.test(file));
  const others = [
    "src/cli/main.ts",
    "examples/api/server.ts",
    "examples/approval-flow/run.ts",
    "examples/langgraph-client/talk.ts",
  ];
  await Promise.all([
    bundleInto(ofTests, { hasPackages: true }),
    bundleInto(others, { hasPackages: false }),
  ]);
}

async function bundleInto(
  entryPoints: string[],
  { hasPackages }: { readonly hasPackages: boolean },
): Promise<void> {
  await bundle({
    entryPoints,
    absWorkingDir: root,
    outdir: folder,
    outbase: ".",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    banner: {
      // Packages inside that are written for CommonJS call it.
      js: `import { createRequire as newRequire } from "node:module"; const require = newRequire(import.meta.url);`,
    },
    plugins: [
      {
        name: "keep the place of sources",
        // Assets are found beside the source that reads them.
        setup(build) {
          build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
            const source = await readFile(path, "utf8");
            const url = JSON.stringify(pathToFileURL(path).href);
            return { loader: "ts", contents: source.replaceAll("import.meta.url", url) };
          });
        },
      },
      {
        name: "leave packages outside",
        setup(build) {
          build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
            // Imported when needed, a CommonJS package has no named exports in a bundle.
            const isInside = hasPackages && kind !== "dynamic-import" && !apart.test(path);
            return kind === "entry-point" || isInside ? null : { path, external: true };
          });
        },
      },
    ],
  });
}

export async function removePrograms(): Promise<void> {
  await rm(join(root, folder), { recursive: true, force: true });
}
