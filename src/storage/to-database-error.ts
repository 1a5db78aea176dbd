import {
  DatabaseFullError,
  DatabasePermissionError,
  DatabaseReadOnlyError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
} from "./errors.ts";

type Failure = new (reason: string, sqlState: string | null, cause: unknown) => Error;

/** SQLSTATEs, and the codes of Node for what a system call met. */
const FAILURES: Readonly<Record<string, Failure>> = {
  "53100": DatabaseFullError,
  ENOSPC: DatabaseFullError,
  EDQUOT: DatabaseFullError,
  "25006": DatabaseReadOnlyError,
  EROFS: DatabaseReadOnlyError,
  "42501": DatabasePermissionError,
  EACCES: DatabasePermissionError,
  EPERM: DatabasePermissionError,
  "57014": DatabaseTimeoutError,
  "57P01": DatabaseUnavailableError, // An administrator ended the session.
  "57P02": DatabaseUnavailableError, // The server crashed.
  "57P03": DatabaseUnavailableError, // It starts up, or shuts down.
  ECONNREFUSED: DatabaseUnavailableError,
  ECONNRESET: DatabaseUnavailableError,
  EHOSTUNREACH: DatabaseUnavailableError,
  ENETDOWN: DatabaseUnavailableError,
  ENETUNREACH: DatabaseUnavailableError,
  ENOTFOUND: DatabaseUnavailableError,
  EAI_AGAIN: DatabaseUnavailableError,
  EPIPE: DatabaseUnavailableError,
  ETIMEDOUT: DatabaseUnavailableError,
};

/** What node-postgres and PGlite say, without any code, of a session that is gone. */
const GONE = /^Connection terminated|not queryable$|^PGlite is clos/;

/** Names of what ends the program that PGlite is: a trap of WebAssembly, and an exit. */
const ENDS = new Set(["RuntimeError", "ExitStatus"]);

/**
 * The named error for what a database threw, where the database is the cause and the statement would have done on
 * another day. Anything else comes back as it is: errors of the statement, and of code.
 */
export function toDatabaseError(thrown: unknown): unknown {
  const code = textOf(thrown, "code");
  const lost = code?.startsWith("08") || endsSession(thrown);
  const Failure = FAILURES[code ?? ""] ?? (lost ? DatabaseUnavailableError : undefined);
  return Failure ? new Failure(messageOf(thrown), sqlStateOf(thrown), thrown) : thrown;
}

/** Whether the session answers nothing more after this error. */
export function endsSession(thrown: unknown): boolean {
  const severity = textOf(thrown, "severity");
  if (severity === "FATAL" || severity === "PANIC") return true;
  return ENDS.has(textOf(thrown, "name") ?? "") || GONE.test(messageOf(thrown));
}

/** The SQLSTATE of an error; null for errors of other kinds. The codes of Node have letters alone. */
export function sqlStateOf(thrown: unknown): string | null {
  const code = textOf(thrown, "code");
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : null;
}

function messageOf(thrown: unknown): string {
  return textOf(thrown, "message") ?? String(thrown);
}

function textOf(thrown: unknown, key: string): string | undefined {
  const value = (thrown as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === "string" ? value : undefined;
}
