import type { SecretSource } from "./secret-source.ts";

/** Environment variables as secrets, each under its own name. */
export function environmentSecrets(
  env: Readonly<Record<string, string | undefined>>,
): SecretSource {
  return { get: (name) => (Object.hasOwn(env, name) ? env[name] : undefined) };
}
