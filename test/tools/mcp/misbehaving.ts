import { fileURLToPath } from "node:url";
import {
  serverSchema,
  type ServerSpec,
  type ServerSpecInput,
} from "../../../src/definition/schema/servers.ts";

type StdioInput = Extract<ServerSpecInput, { transport: "stdio" }>;

/** A server of servers/misbehaving.mjs, named "bad". */
export function misbehaving(
  behaviour: string,
  { argument, ...more }: Partial<StdioInput> & { argument?: string } = {},
): ServerSpec {
  const script = fileURLToPath(new URL("servers/misbehaving.mjs", import.meta.url));
  return serverSchema.parse({
    name: "bad",
    transport: "stdio",
    command: process.execPath,
    args: [script, behaviour, ...(argument === undefined ? [] : [argument])],
    ...more,
  });
}
