import { errorMessage, StratagraphError } from "../errors.ts";
import { InvalidDefinitionError } from "../definition/check/problems.ts";
import { HttpProblem, pointedProblems, type ProblemType } from "./problems.ts";

/** The problem of each error code whose error is the caller's to read. Other usage errors are `invalid_input`. */
const problemsByCode: Readonly<Record<string, ProblemType>> = {
  not_found: "not_found",
  unknown_thread: "not_found",
  unknown_checkpoint: "not_found",
  no_checkpoint: "not_found",
  unknown_memory: "not_found",
  unknown_turn: "not_found",
  unknown_step: "not_found",
  conflict: "conflict",
  thread_exists: "conflict",
  thread_busy: "conflict",
  thread_locked: "conflict",
  unfinished_turn: "conflict",
  nothing_to_resume: "conflict",
  nothing_to_answer: "conflict",
  recovery_needed: "conflict",
  definition_changed: "conflict",
  foreign_thread: "conflict",
  inactive_agent: "conflict",
  lease_lost: "conflict",
  memory_busy: "conflict",
  version_conflict: "version_mismatch",
  invalid_cursor: "invalid_cursor",
  database_unavailable: "unavailable",
  database_busy: "unavailable",
  database_timeout: "unavailable",
  database_closed: "unavailable",
  database_connection: "unavailable",
};

/** Codes of errors that are about this server. Their messages are logged and not sent. */
const serverFaults =
  /^(?:database_|tenant_|corrupt_|sealed_|no_cipher|newer_database|migration_|folder_|invalid_tenant|storage_)/;

/** Codes of errors that a definition causes on a server which lacks a package, a key or a setting. */
const missingOnServer = /^missing_(?:api_key|provider_package|package|region|drawing_package)$/;

/**
 * Returns the problem of anything thrown by a route. What is not known to be the caller's becomes `internal`, whose
 * document has no detail.
 */
export function problemOfError(thrown: unknown): HttpProblem {
  if (thrown instanceof HttpProblem) return thrown;
  if (thrown instanceof InvalidDefinitionError) {
    return new HttpProblem("invalid_definition", {
      detail: `The definition has ${thrown.problems.length === 1 ? "1 problem" : `${thrown.problems.length} problems`}.`,
      errors: pointedProblems(thrown.problems),
      cause: thrown,
    });
  }
  if (!(thrown instanceof StratagraphError)) return new HttpProblem("internal", { cause: thrown });
  const type = problemsByCode[thrown.code];
  if (type === "unavailable") {
    return new HttpProblem(type, { headers: { "Retry-After": "1" }, cause: thrown });
  }
  const isOwn = thrown.kind === "run" || serverFaults.test(thrown.code);
  if (type === undefined && isOwn) return new HttpProblem("internal", { cause: thrown });
  if (missingOnServer.test(thrown.code)) {
    return new HttpProblem("invalid_input", {
      detail:
        "This server cannot run the agent: a model or a package that it names is not configured here.",
      extensions: { code: thrown.code },
      cause: thrown,
    });
  }
  return new HttpProblem(type ?? "invalid_input", {
    detail: errorMessage(thrown).slice(0, 4000),
    extensions: { code: thrown.code },
    cause: thrown,
  });
}
