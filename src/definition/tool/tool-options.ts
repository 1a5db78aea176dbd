import { StratagraphError } from "../../errors.ts";
import { nearestName } from "../../nearest-name.ts";
import { isRecord } from "../../values/json.ts";
import { isSemanticVersion } from "../check/check-definition.ts";
import { showFound } from "../check/problems.ts";
import { functionSource } from "../function-source.ts";
import {
  clientExecutionKeys,
  defaultExecution,
  isPermission,
  type ToolDefinition,
  type ToolExecutionOptions,
  type ToolPersistence,
} from "./tool.ts";

/** The options of a tool that are checked at run time, apart from its schemas. */
export interface ToolOptionsToCheck extends Partial<
  Pick<ToolDefinition, "display_name" | "version" | "requires_approval">
> {
  readonly name: string;
  readonly description: string;
  readonly persistence?: ToolPersistence;
  readonly writes?: unknown;
  readonly permissions?: unknown;
  readonly execution?: unknown;
  /** Left out for a client tool. */
  readonly handler?: (...args: never[]) => unknown;
  readonly transport?: unknown;
}

/** Maximum delay of a timer in milliseconds, used for all limits. */
const maxLimit = 2_147_483_647;

const optionNames = [
  "name",
  "display_name",
  "description",
  "input_schema",
  "output_schema",
  "execution",
  "permissions",
  "requires_approval",
  "version",
  "persistence",
  "writes",
  "handler",
];

const clientOptionNames = [
  ...optionNames.filter((name) => !["persistence", "writes", "handler"].includes(name)),
  "transport",
];

/** @throws InvalidToolError */
export function checkToolOptions(options: ToolOptionsToCheck): void {
  const given = options as unknown;
  if (typeof given !== "object" || given === null) {
    throw new InvalidToolError("?", `expected the tool's options, found ${showFound(given)}`);
  }
  const name: unknown = options.name;
  const refuse = (problem: string) => new InvalidToolError(String(name), problem);
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw refuse("a name has 1 to 64 letters, digits, _ and -");
  }
  const isClient = isClientTransport(options.transport);
  if (options.transport !== undefined && !isClient) {
    throw refuse(
      `the transport must be { type: "client" }, or left out with a handler, not ${showFound(options.transport)}`,
    );
  }
  if (isClient && options.handler !== undefined) {
    throw refuse("the caller runs a client tool: leave out the handler, or the transport");
  }
  refuseUnknown(Object.keys(options), isClient ? clientOptionNames : optionNames, refuse);
  if (options.description !== undefined && typeof options.description !== "string") {
    throw refuse(`the description must be a text, not ${showFound(options.description)}`);
  }
  if (options.description === undefined || options.description.trim() === "") {
    throw refuse("the description is empty; the model chooses tools by it");
  }
  if (!isClient && typeof options.handler !== "function") {
    throw refuse("the handler is not a function");
  }
  const { persistence } = options;
  if (persistence !== undefined && !["none", "execution", "attempt"].includes(persistence)) {
    throw refuse(`persistence is none, execution or attempt, not ${showFound(persistence)}`);
  }
  checkWrites(options.writes, persistence ?? "none", refuse);
  const { version, display_name } = options;
  if (version !== undefined && (typeof version !== "string" || !isSemanticVersion(version))) {
    throw refuse(`the version must be one such as 1.0.0, not ${showFound(version)}`);
  }
  if (display_name !== undefined && typeof display_name !== "string") {
    throw refuse(`display_name must be a text, not ${showFound(display_name)}`);
  }
  const { requires_approval: approval } = options;
  if (approval !== undefined && typeof approval !== "boolean") {
    throw refuse(`requires_approval is true or false, not ${showFound(approval)}`);
  }
  checkPermissions(options.permissions, refuse);
  checkExecution(options.execution ?? {}, options, refuse);
}

/** Whether a transport is that of a client tool. */
export function isClientTransport(transport: unknown): boolean {
  return (
    isRecord(transport) && transport["type"] === "client" && Object.keys(transport).length === 1
  );
}

type Refuse = (problem: string) => InvalidToolError;

function checkWrites(writes: unknown, persistence: ToolPersistence, refuse: Refuse): void {
  if (writes === undefined) return;
  if (persistence === "none") throw refuse("writes is for tools with persistence");
  if (!Array.isArray(writes) || writes.length === 0) {
    throw refuse(`writes must be a list of keys, not ${showFound(writes)}`);
  }
  for (const key of writes as unknown[]) {
    if (typeof key !== "string" || !/^(execution|attempt)\.[^.\s]+$/.test(key)) {
      throw refuse(`writes has keys such as execution.pages, not ${showFound(key)}`);
    }
    if (persistence === "attempt" && !key.startsWith("attempt.")) {
      throw refuse(`writes has ${key}, and persistence is attempt`);
    }
  }
  if (!writes.some((key: string) => key.startsWith(`${persistence}.`))) {
    throw refuse(`persistence is ${persistence}, and writes has no key of that tier`);
  }
}

function checkPermissions(permissions: unknown, refuse: Refuse): void {
  if (permissions === undefined) return;
  if (!Array.isArray(permissions)) {
    throw refuse(`permissions must be a list, not ${showFound(permissions)}`);
  }
  for (const one of permissions as unknown[]) {
    if (isPermissionOption(typeof one === "string" ? { name: one } : one)) continue;
    throw refuse(
      `a permission is a name such as file:read, or { name, required }, not ${showFound(one)}`,
    );
  }
}

function isPermissionOption(given: unknown): boolean {
  if (!isRecord(given)) return false;
  const { name, required = true, ...rest } = given;
  return (
    typeof name === "string" &&
    isPermission(name, { wildcards: false }) &&
    typeof required === "boolean" &&
    Object.keys(rest).length === 0
  );
}

function checkExecution(
  execution: unknown,
  { handler, persistence = "none" }: Pick<ToolOptionsToCheck, "handler" | "persistence">,
  refuse: Refuse,
): void {
  if (typeof execution !== "object" || execution === null) {
    throw refuse(`execution must be an object, not ${showFound(execution)}`);
  }
  const known = handler === undefined ? clientExecutionKeys : Object.keys(defaultExecution);
  refuseUnknown(Object.keys(execution), known, refuse);
  const { idempotent, repeatable, sandbox, retry, timeout_ms, max_result_bytes } =
    execution as ToolExecutionOptions;
  for (const [key, value] of Object.entries({ idempotent, repeatable, sandbox })) {
    if (value !== undefined && typeof value !== "boolean") {
      throw refuse(`execution.${key} is true or false, not ${showFound(value)}`);
    }
  }
  checkCounts({ timeout_ms, max_result_bytes }, "execution", 1, refuse);
  if (sandbox === true && persistence !== "none") {
    throw refuse("execution.sandbox is for tools without state");
  }
  const source = sandbox === true && handler !== undefined ? functionSource(handler) : undefined;
  if (source?.ok === false) throw refuse(`the handler ${source.problem}`);
  if (retry === undefined) return;
  if (typeof retry !== "object" || retry === null) {
    throw refuse(`execution.retry must be an object, not ${showFound(retry)}`);
  }
  refuseUnknown(Object.keys(retry), Object.keys(defaultExecution.retry), refuse);
  checkCounts({ max_retries: retry.max_retries }, "execution.retry", 0, refuse);
  checkCounts({ backoff_ms: retry.backoff_ms }, "execution.retry", 1, refuse);
}

function checkCounts(
  counts: Readonly<Record<string, number | undefined>>,
  path: string,
  least: number,
  refuse: Refuse,
): void {
  for (const [key, value] of Object.entries(counts)) {
    if (value === undefined) continue;
    if (!Number.isInteger(value) || value < least || value > maxLimit) {
      throw refuse(
        `${path}.${key} must be a whole number from ${least} to 2,147,483,647, not ${showFound(value)}`,
      );
    }
  }
}

function refuseUnknown(
  keys: readonly string[],
  allowed: readonly string[],
  refuse: (problem: string) => InvalidToolError,
): void {
  const unknown = keys.find((key) => !allowed.includes(key));
  if (unknown === undefined) return;
  const near = nearestName(unknown, allowed);
  const meant = near === undefined ? "" : `; did you mean "${near}"?`;
  throw refuse(`unknown option "${unknown}" (allowed: ${allowed.join(", ")}${meant})`);
}

/** The definition of a tool is invalid. */
export class InvalidToolError extends StratagraphError {
  readonly code = "invalid_tool";

  constructor(
    readonly tool: string,
    problem: string,
  ) {
    super(`Tool "${tool}": ${problem}.`);
  }
}
