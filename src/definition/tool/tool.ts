import type { AgentState, Awaitable } from "../../state/tiers.ts";
import type { JsonSchema, SchemaCheck } from "../schema/json-schema.ts";

/** The state tier that a tool's handler writes; `none` for stateless tools. */
export type ToolPersistence = "none" | "attempt" | "execution";

/** A top-level key of a tier: `execution.pages`. */
export type TierKey = `${keyof AgentState}.${string}`;

/** A tool as data, compatible with MCP: the description that models read and the limits that the framework enforces. */
export interface ToolDefinition {
  /** `[A-Za-z0-9_-]{1,64}`, unique in an agent. */
  readonly name: string;
  readonly display_name?: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  readonly output_schema?: JsonSchema;
  readonly transport: ToolTransport;
  readonly execution: ToolExecution;
  /** Permissions that an agent needs to call the tool. Default none. */
  readonly permissions: readonly ToolPermission[];
  readonly persistence: ToolPersistence;
  /** The only keys that its handler changes; left out if they are not declared. */
  readonly writes?: readonly TierKey[];
  /** Whether a person must approve every call. */
  readonly requires_approval: boolean;
  readonly version: string;
  readonly is_builtin: boolean;
}

/**
 * The transport of a tool's calls. It contains secrets only as `{{secret:NAME}}` references. The tools of MCP servers
 * have a `server`.
 */
export type ToolTransport =
  /** `client`: the tool has no handler here. The caller of the run makes the call and returns its result. */
  | { readonly type: "builtin" | "function" | "client" }
  | { readonly type: "stdio"; readonly server: string; readonly command: string }
  | { readonly type: "http" | "sse"; readonly server: string; readonly endpoint: string }
  | HttpTransport;

/** One HTTP request for each call. Texts are templates: `{name}` stands for an input. */
export interface HttpTransport {
  readonly type: "http";
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** http or https URL, with templates in its path and query. */
  readonly endpoint: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: unknown;
  readonly response: {
    readonly type: "json" | "text";
    /** JMESPath. */
    readonly select?: string | undefined;
  };
}

export interface ToolPermission {
  /** Segments separated by colons: `file:read`. */
  readonly name: string;
  /** Whether calls are refused without it. Otherwise it is documentation only. */
  readonly required: boolean;
}

export interface ToolExecution {
  /**
   * Milliseconds after which a try is aborted with outcome `timeout`. Default 30,000. For a client tool, how long a run
   * waits for the result. Default 86,400,000, which is a day.
   */
  readonly timeout_ms: number;
  readonly retry: ToolRetry;
  /**
   * Whether the handler runs in a sandbox, without network, files, environment or its module's scope. Default false.
   */
  readonly sandbox: boolean;
  /** Whether repeating a call has no further effect. Default false. */
  readonly idempotent: boolean;
  /** Whether the same call may normally return the same result again, as when polling a status. Default false. */
  readonly repeatable: boolean;
  /** Maximum UTF-8 bytes of the result's JSON; a longer one is truncated and flagged. Default 262,144. */
  readonly max_result_bytes: number;
}

/** Retry policy. A call is retried only if its tool is idempotent or the error guarantees that nothing was done. */
export interface ToolRetry {
  /** Tries after the first one. Default 0. */
  readonly max_retries: number;
  /** Milliseconds before the first retry, doubled for each further one; the upper half is random. Default 500. */
  readonly backoff_ms: number;
}

/** The second argument of a handler, after its input. */
export interface ToolContext {
  /** Aborts on the tool's timeout, the turn's timeout and cancellation. */
  readonly signal: AbortSignal;
  /** The id of this call, unique in the turn. */
  readonly callId: string;
  /** The name of the agent that calls. Undefined where a tool is tried without an agent. */
  readonly agent?: string | undefined;
  /** The current time, from the runtime's clock. */
  readonly now: () => Date;
  /**
   * Returns the value of a secret. It is redacted from the handler's results and errors.
   * @throws MissingSecretError
   */
  secret(name: string): Promise<string>;
}

/** A tool with its code. `input` and `output` validate against the definition's schemas. */
export type AgentTool = StatelessTool | StatefulTool;

interface ToolBase {
  readonly definition: ToolDefinition;
  readonly input: SchemaCheck;
  readonly output?: SchemaCheck;
}

export interface StatelessTool extends ToolBase {
  readonly kind: "stateless";
  /** The source text of a sandboxed handler. */
  readonly source?: string;
  /** Whether the handler enforces its own time limit, so that waiting for a free sandbox does not count. */
  readonly hasOwnTimeout?: true;
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

/** Execution settings, all optional. */
export type ToolExecutionOptions = Partial<Omit<ToolExecution, "retry">> & {
  readonly retry?: Partial<ToolRetry>;
};

/** Default limits of a call. */
export const defaultExecution: ToolExecution = Object.freeze({
  timeout_ms: 30_000,
  retry: Object.freeze({ max_retries: 0, backoff_ms: 500 }),
  sandbox: false,
  idempotent: false,
  repeatable: false,
  max_result_bytes: 262_144,
});

/** Returns the execution settings of a tool, with defaults for missing options. */
export function resolveToolExecution(options: ToolExecutionOptions = {}): ToolExecution {
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

/** Default time that a run waits for the result of a client tool, in milliseconds. */
const clientTimeoutMs = 86_400_000;

/** Execution settings of client tools: the caller decides about everything else. */
export const clientExecutionKeys: readonly string[] = [
  "timeout_ms",
  "max_result_bytes",
  "repeatable",
];

/** Returns the execution settings of a client tool, with defaults for missing options. */
export function resolveClientExecution(options: ToolExecutionOptions = {}): ToolExecution {
  const { timeout_ms = clientTimeoutMs, ...given } = options;
  return resolveToolExecution({ ...given, timeout_ms });
}

/** Whether the caller of a run makes the calls of a tool. */
export function isClientTool({ definition }: Pick<AgentTool, "definition">): boolean {
  return definition.transport.type === "client";
}

/** A segment of a permission, or `*` in a grant. */
const segment = /^(?:[A-Za-z0-9_.-]+|\*)$/;

/** Whether a text is a valid permission: segments such as `file:read`. In a grant, `*` may replace a segment. */
export function isPermission(
  text: string,
  { wildcards }: { readonly wildcards: boolean },
): boolean {
  const segments = text.split(":");
  return segments.every((one) => segment.test(one) && (wildcards || one !== "*"));
}

/**
 * Whether one of the grants covers a permission. `*` matches one segment, or as the last segment all remaining ones.
 * `network:*` covers `network:http` and `network:http:get`, but not `network`.
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

/** Returns grants that cover exactly the intersection of two lists of grants. */
export function intersectGrants(a: readonly string[], b: readonly string[]): readonly string[] {
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

/** Whether grant `a` covers everything that grant `b` covers. */
function coversGrant(a: string, b: string): boolean {
  return commonGrant(a, b) === b;
}
