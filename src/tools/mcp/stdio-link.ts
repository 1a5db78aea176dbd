import type { Clock } from "../../clock.ts";
import type { ServerSpec } from "../../definition/schema/servers.ts";
import { errorMessage } from "../../errors.ts";
import type { Secrets } from "../secrets.ts";
import {
  asSentence,
  type TransportLink,
  type McpPackages,
  OpenAbortedError,
  plainMessage,
} from "./transport-link.ts";
import { StdioTransport } from "./stdio-transport.ts";

export type StdioSpec = Extract<ServerSpec, { transport: "stdio" }>;

/** @throws MissingSecretError */
export async function stdioLink(
  spec: StdioSpec,
  deps: { readonly secrets: Secrets; readonly clock: Clock; readonly packages: McpPackages },
): Promise<TransportLink> {
  const { secrets, clock, packages } = deps;
  const env: Record<string, string> = packages.defaultEnvironment();
  for (const [name, value] of Object.entries(spec.env)) env[name] = await secrets.resolve(value);
  const args = await Promise.all(spec.args.map((arg) => secrets.resolve(arg)));
  const transport = new StdioTransport(
    { command: spec.command, args, env, cwd: spec.cwd },
    {
      clock,
      parse: (line) => packages.types.JSONRPCMessageSchema.parse(JSON.parse(line)),
    },
  );
  return {
    transport,
    startProblem: (thrown) => startProblem(spec, transport, thrown),
    endProblem: () => ({
      text: [endSentence(transport), ...stderrSentence(transport)].join(" "),
      exitCode: transport.end?.exitCode ?? null,
      isTransient: true,
    }),
    close: (isReady) => (isReady ? transport.close() : transport.kill()),
  };
}

function startProblem(spec: StdioSpec, transport: StdioTransport, thrown: unknown) {
  const exitCode = transport.end?.exitCode ?? null;
  const spawnProblem = transport.pid === undefined ? whyNotSpawned(spec, thrown) : undefined;
  if (spawnProblem !== undefined) return { text: spawnProblem, exitCode, isTransient: false };
  const first = saysItself(thrown)
    ? asSentence(plainMessage(errorMessage(thrown)))
    : `Its process ended ${howEnded(transport)} before it was ready.`;
  const text = [first, ...garbageSentence(transport), ...stderrSentence(transport)].join(" ");
  return { text, exitCode, isTransient: true };
}

/** It was given up, or refused by the server; else the process ended first. */
function saysItself(thrown: unknown): boolean {
  const { code } = thrown as { code?: unknown };
  return thrown instanceof OpenAbortedError || (typeof code === "number" && code !== closedCode);
}

/** The SDK's code for a connection that ended. */
const closedCode = -32_000;

/** Node's own message is not repeated where it may quote an argument or a variable with a secret in it. */
function whyNotSpawned({ command, cwd }: StdioSpec, thrown: unknown): string {
  const { code } = thrown as { code?: unknown };
  const shown = JSON.stringify(command);
  if (code === "ENOENT") {
    const where = cwd === undefined ? "" : `, or there is no folder ${JSON.stringify(cwd)}`;
    return `Its command ${shown} was not found${where}. Install it, or correct the command.`;
  }
  if (code === "EACCES") return `Its command ${shown} may not be executed (EACCES).`;
  if (code === "ERR_INVALID_ARG_VALUE") {
    return "Its command, args or env have a character that a process cannot be given.";
  }
  const why = typeof code === "string" ? ` (${code})` : "";
  return `Its command ${shown} could not be run${why}.`;
}

function endSentence(transport: StdioTransport): string {
  return transport.end === undefined
    ? "Its process could not be reached."
    : `Its process ended ${howEnded(transport)}.`;
}

function howEnded({ end }: StdioTransport): string {
  return typeof end?.signal === "string"
    ? `by ${end.signal}`
    : `with exit code ${end?.exitCode ?? "unknown"}`;
}

function garbageSentence({ garbage }: StdioTransport): readonly string[] {
  if (garbage.count === 0) return [];
  const first = JSON.stringify(garbage.first);
  const what =
    garbage.count === 1
      ? `a line that is no MCP message (${first})`
      : `${garbage.count} lines that are no MCP messages (the first: ${first})`;
  return [`On standard output it printed ${what}; all but messages belongs on standard error.`];
}

function stderrSentence({ stderr }: StdioTransport): readonly string[] {
  if (stderr.lines.length === 0) return [];
  return [`The end of its standard error:\n${stderr.lines.join("\n")}`];
}
