import { expect, it } from "vitest";
import { deltaHistory } from "../../checkpointers/delta-history.ts";

const place = { threadId: "t", namespace: "", id: "1" };

function historyWhenDatabaseFails(code: string) {
  const failure = Object.assign(new Error("The statement failed."), { code });
  const pool = { query: () => Promise.reject(failure) };
  const parts = { pool, queries: { name: "saver", deltaHistory: "SELECT" }, reader: {} };
  return { failure, history: deltaHistory(place, ["items"], parts as never) };
}

it("leaves data that the database cannot read to the walk from parent to parent", async () => {
  await expect(historyWhenDatabaseFails("22P02").history).resolves.toBeNull();
});

it.each(["57P01", "40001", "42P01"])("passes on SQLSTATE %s", async (code) => {
  const { failure, history } = historyWhenDatabaseFails(code);
  await expect(history).rejects.toBe(failure);
});
