import { z } from "zod";
import type { DefinitionProblem } from "../definition/check/problems.ts";
import { StratagraphError } from "../errors.ts";

/** The problems of the API, with their statuses and titles. The key is stable: clients match on it. */
export const problemTypes = {
  invalid_request: { status: 400, title: "The request is not valid" },
  invalid_json: { status: 400, title: "The body is not valid JSON" },
  invalid_cursor: { status: 400, title: "The cursor is not valid" },
  unauthorized: { status: 401, title: "A valid API key is required" },
  missing_scope: { status: 403, title: "The API key lacks a scope" },
  forbidden_origin: { status: 403, title: "Requests from this origin are not allowed" },
  forbidden_host: { status: 403, title: "This host name is not allowed" },
  not_found: { status: 404, title: "There is no such resource" },
  method_not_allowed: { status: 405, title: "The method is not allowed" },
  not_acceptable: { status: 406, title: "No acceptable representation" },
  request_timeout: { status: 408, title: "The request took too long to arrive" },
  conflict: { status: 409, title: "The state of the resource does not allow this" },
  request_in_progress: { status: 409, title: "The same request is under way" },
  version_mismatch: { status: 412, title: "The resource has changed" },
  body_too_large: { status: 413, title: "The body is too large" },
  url_too_long: { status: 414, title: "The URL is too long" },
  unsupported_media_type: { status: 415, title: "The media type is not supported" },
  invalid_definition: { status: 422, title: "The agent definition is not valid" },
  invalid_input: { status: 422, title: "The request cannot be processed" },
  encryption_required: { status: 422, title: "The server stores no secrets without encryption" },
  idempotency_mismatch: { status: 422, title: "The idempotency key belongs to another request" },
  headers_too_large: { status: 431, title: "The headers are too large" },
  rate_limited: { status: 429, title: "Too many requests" },
  quota_exceeded: { status: 429, title: "A quota of the day is used up" },
  internal: { status: 500, title: "An unexpected error occurred" },
  unavailable: { status: 503, title: "The server cannot answer now" },
  timeout: { status: 504, title: "The answer took too long" },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

export type ProblemType = keyof typeof problemTypes;

/** One place in the request and what is wrong there. */
export interface PointedProblem {
  /** JSON Pointer (RFC 6901) into the body, or into the parameters. */
  readonly pointer: string;
  /** Which parameters the pointer is of; absent for the body. */
  readonly in?: "path" | "query" | "header";
  readonly detail: string;
  readonly allowed?: readonly string[];
}

export interface ProblemFacts {
  readonly detail?: string;
  readonly errors?: readonly PointedProblem[];
  /** Further members of the document. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the request was executed all the same: its Idempotency-Key stays used. Default false. */
  readonly isExecuted?: boolean;
  readonly cause?: unknown;
}

/** A request that is answered with a problem document (RFC 9457). */
export class HttpProblem extends StratagraphError {
  readonly code = "http_problem";

  constructor(
    readonly type: ProblemType,
    readonly facts: ProblemFacts = {},
  ) {
    super(facts.detail ?? problemTypes[type].title, { cause: facts.cause });
  }

  get status(): number {
    return problemTypes[this.type].status;
  }
}

/** The schema of a problem document. */
export const problemSchema = z
  .looseObject({
    type: z.string().describe("Stable path of the kind of problem: /problems/<code>."),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    instance: z.string().describe("urn:request:<id of the request>."),
    errors: z
      .array(
        z.strictObject({
          pointer: z.string().describe("JSON Pointer into the body, or into the parameters."),
          in: z.enum(["path", "query", "header"]).optional(),
          detail: z.string(),
          allowed: z.array(z.string()).optional(),
        }),
      )
      .optional(),
  })
  .meta({ id: "Problem" });

export const problemMediaType = "application/problem+json";

/** The most pointed problems in one document. */
const maxErrors = 100;

/** Creates the document of a problem. */
export function problemDocument(
  { type, facts }: Pick<HttpProblem, "type" | "facts">,
  requestId: string,
): z.output<typeof problemSchema> {
  const { detail, errors, extensions = {} } = facts;
  const { status, title } = problemTypes[type];
  return {
    type: `/problems/${type}`,
    title,
    status,
    ...(detail !== undefined && { detail }),
    instance: `urn:request:${requestId}`,
    ...(errors !== undefined && {
      errors: errors.slice(0, maxErrors).map(({ pointer, in: where, detail: what, allowed }) => ({
        pointer,
        ...(where !== undefined && { in: where }),
        detail: what,
        ...(allowed !== undefined && { allowed: [...allowed] }),
      })),
    }),
    ...extensions,
  };
}

/** Returns the JSON Pointer of a path. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path
    .map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** Returns the problems of a definition with JSON Pointers. */
export function pointedProblems(problems: readonly DefinitionProblem[]): readonly PointedProblem[] {
  return problems.map(({ path, message, found, allowed, suggestion }) => {
    const facts = [
      found === undefined ? "" : `found ${found}`,
      suggestion === undefined ? "" : `did you mean "${suggestion}"?`,
    ].filter((fact) => fact !== "");
    return {
      pointer: jsonPointer(path),
      detail: facts.length === 0 ? message : `${message} (${facts.join("; ")})`,
      ...(allowed !== undefined && allowed.length > 0 && { allowed }),
    };
  });
}
