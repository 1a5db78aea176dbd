import { createHash } from "node:crypto";

/** Where an agent remembers, for all of its users or for one. */
export function agentNamespace(agent: string, user?: string): readonly string[] {
  return user === undefined ? ["agents", agent] : ["agents", agent, "users", user];
}

/** The id of an agent in a thread: a UUID, version 8, the same whenever it is asked for. */
export function instanceIdOf(agent: string, threadId: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify(["instance", agent, threadId]))
    .digest("hex");
  const parts = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ];
  return parts.join("-");
}

/** The order of namespaces: label by label, by code units. */
export function compareNamespaces(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((label, index) => label !== b[index]);
  if (at === -1) return a.length - b.length;
  const [one, other] = [a[at] ?? "", b[at]];
  return other === undefined || one > other ? 1 : -1;
}
