import type { Env } from "./provider.ts";

const secretName = /(KEY|TOKEN|SECRET|PASSWORD)$/i;
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
