import type { AgentState, Awaitable } from "../../state/tiers.ts";
import type { JsonSchema, SchemaCheck } from "../schema/json-schema.ts";

/** Which tier a tool's handler writes; `none` for tools without state. */
export type ToolPersistence = "none" | "attempt" | "execution";

/** A tool as data, compatible with MCP: the facts that a model reads and that the caller enforces. */
export interface ToolDefinition {
  /** `[A-Za-z0-9_-]{1,64}`, unique in an agent. */
  readonly name: string;
  readonly display_name?: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  readonly output_schema?: JsonSchema;
  /** What its calls go through. */
  readonly transport: ToolTransport;
  readonly execution: ToolExecution;
  /** Permissions that an agent needs to call the tool. Default none. */
  readonly permissions: readonly ToolPermission[];
  readonly persistence: ToolPersistence;
  /** Whether a person has to approve every call. */
  readonly requires_approval: boolean;
  readonly version: string;
  readonly is_builtin: boolean;
}

/** Secrets in it are references, `{{secret:NAME}}`. */
export type ToolTransport =
  | { readonly type: "builtin" | "function" }
  | { readonly type: "stdio"; readonly server: string; readonly command: string }
  | { readonly type: "http" | "sse"; readonly server: string; readonly endpoint: string };

export interface ToolPermission {
  /** Segments between colons: `file:read`. */
  readonly name: string;
  /** Whether the tool may not be called without it. One that is not required is for people to read. */
  readonly required: boolean;
}

export interface ToolExecution {
  /** Milliseconds one try may take before it is aborted with outcome `timeout`. Default 30,000. */
  readonly timeout_ms: number;
  readonly retry: ToolRetry;
  /** Whether the handler runs in a sandbox: no network, no files, no environment, and nothing of its module. Default false. */
  readonly sandbox: boolean;
  /** Whether a call that is made twice does no more than one that is made once. Default false. */
  readonly idempotent: boolean;
  /** Whether calling it again with the same arguments and getting the same result is normal, as of a status. Default false. */
  readonly repeatable: boolean;
  /** UTF-8 bytes of the result's JSON; what is over is cut and marked. Default 262,144. */
  readonly max_result_bytes: number;
}

/** Only calls of idempotent tools, and errors after which nothing was done, are tried again. */
export interface ToolRetry {
  /** Tries after the first. Default 0. */
  readonly max_retries: number;
  /** Milliseconds before the first retry, doubled for each one after it, and half to all of that at random. Default 500. */
  readonly backoff_ms: number;
}

/** The second argument of a handler, after its input. */
export interface ToolContext {
  /** Aborts on the tool's timeout, the turn's timeout and cancellation. */
  readonly signal: AbortSignal;
  /** The id of this call, unique in the turn. */
  readonly callId: string;
  /** The current time, from the runtime's clock. */
  readonly now: () => Date;
  /**
   * The value of a secret, by name. It is taken out of what the handler returns or throws.
   * @throws MissingSecretError
   */
  secret(name: string): Promise<string>;
}

/** A tool with its code. `input` and `output` are checks of the definition's schemas. */
export type AgentTool = StatelessTool | StatefulTool;

interface ToolBase {
  readonly definition: ToolDefinition;
  readonly input: SchemaCheck;
  readonly output?: SchemaCheck;
}

export interface StatelessTool extends ToolBase {
  readonly kind: "stateless";
  /** The source text of the handler, where it runs in a sandbox. */
  readonly source?: string;
  /** Whether its handler itself bounds how long it runs, so that its waiting for a free sandbox is no running. */
  readonly boundsItself?: true;
  run(input: unknown, context: ToolContext): Awaitable<unknown>;
}

export interface StatefulTool extends ToolBase {
  readonly kind: "stateful";
  reduce(
    state: AgentState<unknown, unknown>,
    input: unknown,
    context: ToolContext,
  ): Awaitable<{ newState: AgentState<unknown, unknown>; toolResult: unknown }>;
}

/** All of it may be left out. */
export type ToolExecutionOptions = Partial<Omit<ToolExecution, "retry">> & {
  readonly retry?: Partial<ToolRetry>;
};

/** Limits of a call where nothing else is said. */
export const defaultExecution: ToolExecution = Object.freeze({
  timeout_ms: 30_000,
  retry: Object.freeze({ max_retries: 0, backoff_ms: 500 }),
  sandbox: false,
  idempotent: false,
  repeatable: false,
  max_result_bytes: 262_144,
});

/** What a tool is run with where its options leave it open. */
export function toolExecution(options: ToolExecutionOptions = {}): ToolExecution {
  const { retry, ...given } = options;
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return Object.freeze({
    ...defaultExecution,
    ...own,
    retry: Object.freeze({
      max_retries: retry?.max_retries ?? defaultExecution.retry.max_retries,
      backoff_ms: retry?.backoff_ms ?? defaultExecution.retry.backoff_ms,
    }),
  });
}

/** A segment of a permission, or `*` in a grant. */
const segment = /^(?:[A-Za-z0-9_.-]+|\*)$/;

/** A permission is named by segments: `file:read`, `network:http`. A grant may have `*` for a segment. */
export function isPermission(
  text: string,
  { wildcards }: { readonly wildcards: boolean },
): boolean {
  const segments = text.split(":");
  return segments.every((one) => segment.test(one) && (wildcards || one !== "*"));
}

/**
 * Whether one of the grants covers a permission, segment by segment: `*` stands for one segment, and as the last segment
 * for all that are left. `network:*` covers `network:http` and `network:http:get`, and not `network`.
 */
export function isGranted(permission: string, grants: readonly string[]): boolean {
  const asked = permission.split(":");
  return grants.some((grant) => covers(grant.split(":"), asked));
}

function covers(grant: readonly string[], asked: readonly string[]): boolean {
  const isOpen = grant.at(-1) === "*";
  if (isOpen ? asked.length < grant.length : asked.length !== grant.length) return false;
  return grant.every((one, at) => one === "*" || one === asked[at]);
}

/** Grants that cover what two lists of grants both cover, and nothing else. */
export function commonGrants(a: readonly string[], b: readonly string[]): readonly string[] {
  const common = a.flatMap((one) => b.flatMap((other) => commonGrant(one, other) ?? []));
  const all = [...new Set(common)];
  return all.filter((one) => !all.some((other) => other !== one && coversGrant(other, one)));
}

function commonGrant(a: string, b: string): string | null {
  const [short = [], long = []] = [a.split(":"), b.split(":")].toSorted(
    (one, other) => one.length - other.length,
  );
  if (short.length < long.length && short.at(-1) !== "*") return null;
  const common = long.map((segmentOfLong, at) => {
    const segmentOfShort = short[at] ?? "*";
    if (segmentOfShort === "*") return segmentOfLong;
    return segmentOfLong === "*" || segmentOfLong === segmentOfShort ? segmentOfShort : null;
  });
  return common.every((one) => one !== null) ? common.join(":") : null;
}

/** Whether everything that the grant `b` covers `a` covers too. */
function coversGrant(a: string, b: string): boolean {
  return commonGrant(a, b) === b;
}
