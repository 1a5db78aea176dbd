import { InvalidArgumentError } from "commander";
import { isPermission } from "../definition/permission.ts";

/** @throws InvalidArgumentError */
export function temperatureOption(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= 2) return value;
  throw new InvalidArgumentError("Expected a number from 0 to 2.");
}

/** @throws InvalidArgumentError */
export function limitOption(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= 1000) return value;
  throw new InvalidArgumentError("Expected a whole number from 1 to 1000.");
}

/** A number of a turn or a step. @throws InvalidArgumentError */
export function indexOption(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 0.");
}

/** Tokens. @throws InvalidArgumentError */
export function budgetOption(text: string): number {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : 0;
  if (value >= 256) return value;
  throw new InvalidArgumentError("Expected a number of tokens, 256 or more.");
}

/** Runs at once. @throws InvalidArgumentError */
export function parallelOption(text: string): number {
  const value = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= 64) return value;
  throw new InvalidArgumentError("Expected a whole number from 1 to 64.");
}

/** One more of the permissions that were given. @throws InvalidArgumentError */
export function permissionOption(text: string, before: readonly string[] = []): readonly string[] {
  if (isPermission(text, { wildcards: true })) return [...before, text];
  throw new InvalidArgumentError("Expected a permission such as file:read or network:*.");
}

const minute = 60_000;
const units: Readonly<Record<string, number>> = {
  m: minute,
  h: 60 * minute,
  d: 24 * 60 * minute,
  w: 7 * 24 * 60 * minute,
};

/**
 * An age in milliseconds.
 * @throws InvalidArgumentError
 */
export function ageOption(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * (units[unit] ?? 0);
  throw new InvalidArgumentError(
    "Expected a number of minutes, hours, days or weeks: 30m, 12h, 7d, 2w.",
  );
}
