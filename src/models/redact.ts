import type { Env } from "./provider.ts";

const secretName = /(KEY|TOKEN|SECRET|PASSWORD)$|BEARER_TOKEN/i;
/** Keys of OpenAI, Anthropic, Groq and Google by their form, also those partly masked by a server. */
const keyForm = /\b(sk-|gsk_|AIza)[\w*-]{6,}/g;
const shortestSecret = 8;

/** A function that takes the environment's keys, and everything of a key's form, out of a text. */
export function redactor(env: Env): (text: string) => string {
  const secrets = Object.entries(env).flatMap(([name, value]) =>
    secretName.test(name) && value !== undefined && value.length >= shortestSecret ? [value] : [],
  );
  return (text) =>
    secrets
      .reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text)
      .replace(keyForm, "[redacted]");
}

/**
 * A function that takes these values out of a text: anywhere where they are long, short ones where they stand alone. The
 * long words of a value are values too, since of `Bearer abc…` a server repeats the second word.
 */
export function withoutValues(values: readonly string[]): (text: string) => string {
  const words = values.flatMap((value) => value.split(/\s+/).filter(isLong));
  const patterns = [...new Set([...values.map((value) => value.trim()), ...words])]
    .filter((value) => value !== "")
    .toSorted((a, b) => b.length - a.length)
    .map((value) => new RegExp(isLong(value) ? literal(value) : alone(value), "g"));
  return (text) => patterns.reduce((left, pattern) => left.replace(pattern, "[redacted]"), text);
}

function isLong(value: string): boolean {
  return value.length >= shortestSecret;
}

function alone(value: string): string {
  return `(?<!\\w)${literal(value)}(?!\\w)`;
}

function literal(value: string): string {
  return value.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
