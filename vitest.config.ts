import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// .ci/run reads the counts from this file.
const resultsFile = "coverage/test-results.json";

/** Test files that take many seconds, longest first. They begin first, so that no worker ends long after the others. */
const slow = [
  // They force garbage collection, which gets slower as a worker loads more.
  /linked-signals|collected-graphs/,
  /e2e\/(?:examples|studio|langgraph|chat)|time-travel-p|inspector\/(?:chat|thread|checkpoints|editor|queue)/,
  /kill-run|docs\.test|stored-encryption\.|api-fuzz|runtime\/planning\.|server\/(?:checkpoints|runs)/,
  /plan-crash|damage\.|context-fold|time-travel-memory|deployment|statements\.|tool-crash|serve-runs/,
  /experiments\/run|chat-command|api-example|growth\/rails|server\/usage|database-memory-contract|remote-servers/,
  /storage\/(?:database|move)|cli\/main|cli\/answer|crash|killed|runtime\/event-loop|e2e\/package/,
  /empty-database|disk-full|plain-data\.|build-reas|run-executor|run-streams|langgraph\/(?:runs|threads|resumed|killed|chaos)/,
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const file = moduleId.split("/test/").at(-1)!;
      const found = slow.findIndex((pattern) => pattern.test(file));
      return found === -1 ? slow.length : found;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the sequencer, which returns a new array.
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/helpers/global-setup.ts"],
    setupFiles: [
      "test/helpers/after-file.ts",
      "test/helpers/no-network.ts",
      "test/helpers/quick-embedded.ts",
      "test/helpers/seeded-properties.ts",
    ],
    passWithNoTests: false,
    // No test loads the local encoder by accident, since that takes a second and 310 MB.
    env: { STRATAGRAPH_EMBEDDINGS: "none" },
    pool: "forks",
    // One more than cores: tests wait for servers, databases and programs.
    maxWorkers: 3,
    isolate: false,
    // Megabytes for new objects: with more of them the garbage collector runs less often.
    execArgv: ["--max-semi-space-size=32"],
    sequence: { sequencer: SlowFirst },
    // Far beyond what any test takes: the first that loads a part of the code takes half a minute on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: ["default", ...(process.env["CI"] ? ["json"] : [])],
    outputFile: { json: resultsFile },
  },
});
