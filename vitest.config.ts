import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// .ci/run reads the counts from this file.
const ciReport = ["json", { outputFile: "coverage/test-results.json" }] as const;

export default defineConfig({
  resolve: {
    alias: [
      {
        find: /^stratagraph$/,
        replacement: fileURLToPath(new URL("src/index.ts", import.meta.url)),
      },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/helpers/no-network.ts"],
    passWithNoTests: false,
    // A process a file: an embedded database takes hundreds of megabytes that only the end of its process gives back.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: process.env["CI"] ? ["default", [...ciReport]] : ["default"],
    // `npm run types` reports errors of the sources; here only the type tests count.
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], ignoreSourceErrors: true },
  },
});
