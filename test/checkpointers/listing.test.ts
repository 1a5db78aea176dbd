import { expect, it } from "vitest";
import { deltaHistory } from "../../checkpointers/listing.ts";

const place = { threadId: "t", namespace: "", id: "1" };

function historyWhenDatabaseFails(code: string) {
  const failure = Object.assign(new Error("The statement failed."), { code });
  const pool = { query: () => Promise.reject(failure) };
  const reader = { rows: () => Promise.resolve({ checkpoints: [] }) };
  const parts = { pool, queries: { name: "saver", deltaHistory: "SELECT" }, reader };
  return { failure, history: deltaHistory(place, ["items"], parts as never) };
}

it("walks from parent to parent where the database cannot read the data", async () => {
  const { history } = historyWhenDatabaseFails("22P02");
  await expect(history).resolves.toEqual({ items: { writes: [] } });
});

it.each(["57P01", "40001", "42P01"])("passes on SQLSTATE %s", async (code) => {
  const { failure, history } = historyWhenDatabaseFails(code);
  await expect(history).rejects.toBe(failure);
});
