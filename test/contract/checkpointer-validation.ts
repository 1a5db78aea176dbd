import { validate } from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import type { TestDatabase } from "../helpers/databases.ts";

/** LangGraph's public validation suite for checkpointers, on one database. */
export function checkpointerValidation(database: TestDatabase): void {
  // The suite is written for a test runner with global functions.
  Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
  describe.skipIf(!database.available)("LangGraph's checkpointer validation", () => {
    validate({
      checkpointerName: `PostgresCheckpointer on ${database.kind}`,
      createCheckpointer: () => new PostgresCheckpointer(database.shared.pool),
      async destroyCheckpointer() {
        await database.shared.pool.query(
          "truncate checkpoints, checkpoint_blobs, checkpoint_writes",
        );
      },
    });
  });
}
