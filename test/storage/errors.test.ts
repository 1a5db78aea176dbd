import { expect, test } from "vitest";
import {
  DatabaseFullError,
  DatabasePermissionError,
  DatabaseReadOnlyError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
  toDatabaseError,
} from "../../src/storage/errors.ts";

const thrown = (message: string, facts: object = {}) => Object.assign(new Error(message), facts);

test.each([
  ["57P01", "FATAL", DatabaseUnavailableError, "database_unavailable", "run"],
  ["57P02", "FATAL", DatabaseUnavailableError, "database_unavailable", "run"],
  ["57P03", "FATAL", DatabaseUnavailableError, "database_unavailable", "run"],
  ["08000", "ERROR", DatabaseUnavailableError, "database_unavailable", "run"],
  ["08P01", "ERROR", DatabaseUnavailableError, "database_unavailable", "run"],
  ["25P03", "FATAL", DatabaseUnavailableError, "database_unavailable", "run"],
  ["XX000", "PANIC", DatabaseUnavailableError, "database_unavailable", "run"],
  ["53100", "ERROR", DatabaseFullError, "database_full", "run"],
  ["53100", "PANIC", DatabaseFullError, "database_full", "run"],
  ["25006", "ERROR", DatabaseReadOnlyError, "database_read_only", "run"],
  ["42501", "ERROR", DatabasePermissionError, "database_permission", "usage"],
  ["57014", "ERROR", DatabaseTimeoutError, "database_timeout", "run"],
])("names SQLSTATE %s of severity %s", (code, severity, Class, ownCode, kind) => {
  const cause = thrown("what happened", { code, severity });
  const named = toDatabaseError(cause);
  expect(named).toBeInstanceOf(Class);
  expect(named).toMatchObject({ code: ownCode, kind, sqlState: code, cause });
  expect((named as Error).message).toContain("what happened");
});

test.each([
  ["ECONNREFUSED", DatabaseUnavailableError],
  ["ECONNRESET", DatabaseUnavailableError],
  ["EPIPE", DatabaseUnavailableError],
  ["ENOSPC", DatabaseFullError],
  ["EROFS", DatabaseReadOnlyError],
  ["EACCES", DatabasePermissionError],
])("names %s of a system call", (code, Class) => {
  const named = toDatabaseError(thrown("a call failed", { code }));
  expect(named).toBeInstanceOf(Class);
  expect(named).toMatchObject({ sqlState: null });
});

test.each([
  thrown("Connection terminated unexpectedly"),
  thrown("Client has encountered a connection error and is not queryable"),
  thrown("Client was closed and is not queryable"),
  thrown("PGlite is closed"),
  thrown("unreachable", { name: "RuntimeError" }),
  { name: "ExitStatus", message: "Program terminated with exit(1)" },
])("takes for a lost session: $message", (error) => {
  expect(toDatabaseError(error)).toBeInstanceOf(DatabaseUnavailableError);
});

test.each([
  thrown("duplicate key", { code: "23505", severity: "ERROR", detail: "Key (id)=(1) exists" }),
  thrown("deadlock detected", { code: "40P01", severity: "ERROR" }),
  thrown("relation does not exist", { code: "42P01", severity: "ERROR" }),
  new TypeError("Converting circular structure to JSON"),
  "text",
  undefined,
  null,
])("leaves as it is: %s", (error) => {
  expect(toDatabaseError(error)).toBe(error);
});
