import { defineConfig } from "vitest/config";

// .ci/run reads the counts from this file.
const resultsFile = "coverage/test-results.json";

export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/helpers/global-setup.ts"],
    setupFiles: ["test/helpers/no-network.ts", "test/helpers/quick-embedded.ts"],
    passWithNoTests: false,
    // A process a file: an embedded database takes hundreds of megabytes that only the end of its process gives back.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", ...(process.env["CI"] ? ["json"] : [])],
    outputFile: { json: resultsFile },
    // `npm run types` reports errors of the sources; here only the type tests count.
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], ignoreSourceErrors: true },
  },
});
