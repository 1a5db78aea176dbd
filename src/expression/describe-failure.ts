import { operators } from "./numbers.ts";

/** Messages of the CEL library, with what they are to people. */
const known: readonly (readonly [RegExp, (...groups: string[]) => string])[] = [
  [/^field not found: (.*)$/s, (name) => `no field ${JSON.stringify(name)}`],
  [/^index (.*) out of bounds/s, (index) => `index ${index} is out of range`],
  // The library's lists throw this for them.
  [/^unsupported input undefined$/, () => "a list is read by a whole number"],
  [/^unresolved attribute$/, () => "this has no value"],
  [/^found no matching overload for '?(\S+?)'? applied to '(.*)'$/s, describeOverload],
  [
    /^type mismatch: expected bool, got (.*)$/s,
    (type) => `"&&" and "||" need true or false, not ${nameOfCel(type)}`,
  ],
  [
    /^type mismatch: iterable vs (.*)$/s,
    (type) => `all, exists, map and filter go through a list or a map, not ${nameOfCel(type)}`,
  ],
  [/divide by zero$|modulus by zero$/, () => "division by zero"],
  [/overflow/, () => "the whole number is too large"],
  [/^Failed to parse timestamp/, () => "the string is not a time, such as 2026-01-31T08:00:00Z"],
  [/^Unable to convert string '.*' to bool/s, () => "the string is neither true nor false"],
  [
    /^Error converting .* to IANA timezone (.*)$/s,
    (zone) => `${JSON.stringify(zone)} is not a time zone`,
  ],
  [/^unsupported key type$/, () => "a key is a string, a whole number or a boolean"],
  [/^map key conflict: (.*)$/s, (key) => `the key ${JSON.stringify(key)} is there twice`],
  [/^error parsing regexp: (.*)$/s, (reason) => `the regular expression is not valid: ${reason}`],
];

const maxLength = 200;

/** What an evaluation ran into, as a sentence without its full stop. */
export function describeFailure(message: string): string {
  for (const [pattern, describe] of known) {
    const found = pattern.exec(message);
    if (found !== null) return shorten(describe(...found.slice(1)));
  }
  return shorten(message);
}

function shorten(message: string): string {
  const line = message.replaceAll(/\s+/g, " ").trim().replace(/\.$/, "");
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

function describeOverload(name: string, types: string): string {
  const [, target, listed] = /^(?:(.*)\.)?\((.*)\)$/s.exec(types) ?? [undefined, undefined, types];
  const args = splitTypes(listed ?? "").map(nameOfCel);
  if (name === "_?_:_") return `the condition is ${args.join(", ")}, not true or false`;
  const symbol = operators.get(name);
  if (symbol !== undefined) return `"${symbol}" does not take ${args.join(" and ")}`;
  const taken = args.length === 0 ? "no arguments" : args.join(" and ");
  const owner = target === undefined ? "" : ` of ${nameOfCel(target)}`;
  return `${name}()${owner} does not take ${taken}`;
}

function splitTypes(types: string): string[] {
  return types
    .replaceAll(/\([^)]*\)/g, "")
    .split(", ")
    .filter((type) => type !== "");
}

function nameOfCel(type: string): string {
  const name = type.replace(/\(.*/s, "");
  return names.get(name) ?? name;
}

const names: ReadonlyMap<string, string> = new Map([
  ["int", "a number"],
  ["uint", "a number"],
  ["double", "a number"],
  ["string", "a string"],
  ["bool", "true or false"],
  ["bytes", "bytes"],
  ["list", "a list"],
  ["map", "a map"],
  ["null_type", "null"],
  ["null", "null"],
  ["google.protobuf.Timestamp", "a time"],
  ["google.protobuf.Duration", "a duration"],
]);
