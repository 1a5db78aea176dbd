import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

/** A server of the reference implementation, as a definition writes it; it has a tool `echo`. */
export function everything(more: object = {}): object {
  const entry = require.resolve("@modelcontextprotocol/server-everything/package.json");
  const script = join(dirname(entry), "dist/index.js");
  return serverOf("every", [script, "stdio"], more);
}

/** One that does something wrong: `behaviour` is of misbehaving.mjs. */
export function misbehaving(
  name: string,
  [behaviour, argument]: readonly [behaviour: string, argument?: string],
  more: object = {},
): object {
  const script = fileURLToPath(new URL("../tools/mcp/servers/misbehaving.mjs", import.meta.url));
  return serverOf(name, [script, behaviour, ...(argument === undefined ? [] : [argument])], more);
}

function serverOf(name: string, args: readonly string[], more: object): object {
  return { mcp: { name, transport: "stdio", command: process.execPath, args, ...more } };
}

/** Whether a process runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
