import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";
import { systemClock, type Clock } from "../../../src/clock.ts";
import type { AgentTool } from "../../../src/definition/tool/tool.ts";
import type { ToolResult } from "../../../src/state/step-record.ts";
import { callStateless } from "../../../src/tools/call.ts";
import { createToolServers } from "../../../src/tools/mcp/create-tool-servers.ts";
import type { ServerTools, ToolServers } from "../../../src/tools/mcp/tool-servers.ts";
import { createSecrets, type Secrets } from "../../../src/tools/secrets.ts";
import { freePort } from "../../helpers/free-port.ts";
import { callOf } from "../../helpers/probe-tools.ts";

const require = createRequire(import.meta.url);

interface SetUp {
  readonly servers: ToolServers;
  readonly secrets: Secrets;
  readonly call: (
    tools: ServerTools,
    name: string,
    args?: Record<string, unknown>,
    signal?: AbortSignal,
  ) => Promise<ToolResult>;
}

/** Returns a function that makes tool servers; each test's are closed after it. */
export function useToolServers(): (options?: {
  clock?: Clock;
  idleMs?: number;
  secrets?: Record<string, string>;
}) => SetUp {
  const made: ToolServers[] = [];
  afterEach(async () => {
    await Promise.all(made.splice(0).map((servers) => servers.close()));
  });
  return ({ clock = systemClock, idleMs, secrets: values = {} } = {}) => {
    const secrets = createSecrets({ get: (name) => values[name] });
    const servers = createToolServers({ secrets, clock, idleMs, version: "1.2.3" });
    made.push(servers);
    return {
      servers,
      secrets,
      async call(tools, name, args = {}, signal = new AbortController().signal) {
        const tool = toolNamed(tools, name);
        if (tool.kind !== "stateless") throw new TypeError(`${name} has state`);
        const env = { clock, secrets, signal };
        return (await callStateless(tool, callOf(args, name), env)).result;
      },
    };
  };
}

export function toolNamed({ tools }: ServerTools, name: string): AgentTool {
  const tool = tools.find(({ definition }) => definition.name === name);
  if (tool === undefined) throw new TypeError(`There is no tool ${name}.`);
  return tool;
}

export function names({ tools }: ServerTools): readonly string[] {
  return tools.map(({ definition }) => definition.name);
}

/** The program of a published server. */
export function publishedServer(name: "server-everything" | "server-filesystem"): string {
  const path = require.resolve(`@modelcontextprotocol/${name}/package.json`);
  return join(dirname(path), "dist/index.js");
}

export interface RemoteServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Returns a function that starts `server-everything` behind HTTP, on a port of its own or one that is given; each test's
 * are stopped after it.
 */
export function useEverything(): (
  transport: "streamableHttp" | "sse",
  port?: number,
) => Promise<RemoteServer & { port: number }> {
  const running: RemoteServer[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
  });
  return async (transport, given) => {
    const port = given ?? (await freePort());
    const child = spawn(process.execPath, [publishedServer("server-everything"), transport], {
      env: { PATH: process.env["PATH"], PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const stop = async () => {
      child.kill("SIGKILL");
      await ended;
    };
    running.push({ url: "", stop });
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`server-everything ended with ${code}`)));
      child.stderr.on("data", (text: Buffer) => {
        if (text.includes("port")) resolve();
      });
    });
    const path = transport === "sse" ? "sse" : "mcp";
    return { url: `http://127.0.0.1:${port}/${path}`, port, stop };
  };
}

/** Whether a process runs. One that has ended and that nobody has asked for its exit code is only an entry in a table. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const table = `/proc/${pid}/stat`;
    return !existsSync(table) || !/\) Z /.test(readFileSync(table, "utf8"));
  } catch {
    return false;
  }
}
