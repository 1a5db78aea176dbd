import { defineConfig } from "vitest/config";

// .ci/run reads the counts from this file.
const resultsFile = "coverage/test-results.json";

export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/helpers/global-setup.ts"],
    setupFiles: [
      "test/helpers/no-network.ts",
      "test/helpers/quick-embedded.ts",
      "test/helpers/seeded-properties.ts",
    ],
    passWithNoTests: false,
    pool: "forks",
    maxWorkers: 3,
    isolate: false,
    // Megabytes for new objects: with more of them the garbage collector runs less often.
    execArgv: ["--max-semi-space-size=32"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", ...(process.env["CI"] ? ["json"] : [])],
    outputFile: { json: resultsFile },
  },
});
