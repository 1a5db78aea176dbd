import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";
import type { Awaitable } from "../state/tiers.ts";
import { isRecord } from "../values/json.ts";
import { builtInRails } from "./schema/guardrails.ts";
import { showFound } from "./check/problems.ts";
import {
  completeFinding,
  type Rail,
  type RailContext,
  railNamePattern,
  type RailSubject,
  type ShortFinding,
} from "./rail.ts";

/** The definition of a rail is invalid. */
export class InvalidRailError extends StratagraphError {
  readonly code = "invalid_rail";

  constructor(
    readonly rail: string,
    problem: string,
  ) {
    super(`Rail "${rail}": ${problem}.`);
  }
}

export interface RailOptions {
  /** `[a-z][a-z0-9_-]*`, and not the name of a built-in rail. */
  readonly name: string;
  /** The sides that it checks, at least one. */
  readonly on: readonly RailSubject["on"][];
  /** The verdict for a text when the check throws or returns an invalid finding. Default `block`. */
  readonly on_error?: Rail["onError"];
  /** Returns its finding, or undefined to pass the text. */
  check(subject: RailSubject, context: RailContext): Awaitable<ShortFinding | undefined | void>;
}

const sides = ["input", "tool_result", "output"] as const satisfies readonly RailSubject["on"][];
const errorChoices = ["block", "pass"];
const optionNames = ["name", "on", "on_error", "check"];

/**
 * Makes a rail from a TypeScript function. A definition names it as `{ type: custom, name }` among its rails.
 *
 * @throws InvalidRailError
 * @example
 * const noPrices = defineRail({
 *   name: "no-prices",
 *   on: ["output"],
 *   check: ({ text }) =>
 *     /[€$]\s?\d/.test(text) ? { verdict: "block", reasons: "Do not name prices." } : undefined,
 * });
 */
export function defineRail(options: RailOptions): Rail {
  const given: unknown = options;
  const problem = railProblem(given);
  if (problem !== undefined) {
    const name = isRecord(given) && typeof given["name"] === "string" ? given["name"] : "?";
    throw new InvalidRailError(name, problem);
  }
  const { name, on, on_error = "block" } = options;
  return Object.freeze({
    name,
    on: new Set(on),
    onError: on_error,
    check: async (subject, context) =>
      completeFinding(await options.check(subject, context), { rail: name, text: subject.text }),
  } satisfies Rail);
}

function railProblem(given: unknown): string | undefined {
  if (!isRecord(given)) return `expected the rail's options, found ${showFound(given)}`;
  const { name, on, on_error, check } = given;
  if (typeof name !== "string" || !railNamePattern.test(name)) {
    return `a name has lower-case letters, digits, _ and -, and begins with a letter; found ${showFound(name)}`;
  }
  if (builtInRails.includes(name)) return "there is a rail of that name already; choose another";
  const unknown = Object.keys(given).find((key) => !optionNames.includes(key));
  if (unknown !== undefined) return notOneOf(`unknown option "${unknown}"`, unknown, optionNames);
  if (!Array.isArray(on) || on.length === 0) {
    return `on must be a list of at least one of ${sides.join(", ")}, not ${showFound(on)}`;
  }
  const wrong: unknown = on.find((side: unknown) => !sides.some((known) => known === side));
  if (wrong !== undefined || on.includes(undefined)) {
    return notOneOf(`it cannot be asked on ${showFound(wrong)}`, wrong, sides);
  }
  if (on_error !== undefined && !errorChoices.includes(on_error as string)) {
    return notOneOf(`on_error cannot be ${showFound(on_error)}`, on_error, errorChoices);
  }
  return typeof check === "function" ? undefined : "check is not a function";
}

function notOneOf(what: string, found: unknown, allowed: readonly string[]): string {
  const near = typeof found === "string" ? nearestName(found, allowed) : undefined;
  const meant = near === undefined ? "" : `; did you mean "${near}"?`;
  return `${what} (allowed: ${allowed.join(", ")}${meant})`;
}
