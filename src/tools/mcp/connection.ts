import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Clock } from "../../clock.ts";
import type { ServerSpec } from "../../definition/schema/servers.ts";
import type { Secrets } from "../secrets.ts";
import { abortable } from "../../async.ts";
import { ServerStartError } from "./tool-servers.ts";
import {
  type TransportLink,
  type LinkProblem,
  loadMcpPackages,
  type McpPackages,
} from "./transport-link.ts";
import { remoteLink } from "./remote-link.ts";
import { stdioLink } from "./stdio-link.ts";

/** The longest delay that timers of Node take: the SDK's own timeouts never come before the caller's. */
export const noTimeout = 2 ** 31 - 1;

export interface ConnectionDeps {
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** The client's identity as sent to the server. */
  readonly version: string;
}

/** A server that has answered. */
export interface Connection {
  readonly client: Client;
  readonly packages: McpPackages;
  isOpen(): boolean;
  /** Why it ended, without secrets. */
  endProblem(): LinkProblem;
  /** Calls under way end with an error. */
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Aborts where it takes too long or is no longer wanted; its reason is a sentence without a full stop. */
  readonly signal: AbortSignal;
  /** Called once when the connection has ended, on either side. */
  readonly onEnd: () => void;
}

/**
 * Starts or reaches the server and greets it. Whatever was started is gone where it fails.
 * @throws ServerStartError, MissingSecretError
 */
export async function openConnection(
  spec: ServerSpec,
  deps: ConnectionDeps,
  { signal, onEnd }: OpenOptions,
): Promise<Connection> {
  const packages = await loadMcpPackages();
  const link = await linkTo(spec, { ...deps, packages });
  const client = new packages.Client({ name: "stratagraph", version: deps.version });
  const state = { isOpen: true };
  try {
    await abortable(client.connect(link.transport, { timeout: noTimeout }), signal);
  } catch (thrown) {
    // The rest of what it printed comes until it is gone.
    await link.close(false);
    const { text, isTransient } = link.startProblem(thrown);
    throw new ServerStartError(spec.name, deps.secrets.scrub(text), { transient: isTransient });
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no such method
  client.onclose = () => {
    state.isOpen = false;
    onEnd();
  };
  // It may have ended between its answer and now.
  if (client.transport === undefined) state.isOpen = false;
  return {
    client,
    packages,
    isOpen: () => state.isOpen,
    endProblem() {
      const problem = link.endProblem();
      return { ...problem, text: deps.secrets.scrub(problem.text) };
    },
    async close() {
      await link.close(true);
      await client.close();
    },
  };
}

async function linkTo(
  spec: ServerSpec,
  deps: ConnectionDeps & { readonly packages: McpPackages },
): Promise<TransportLink> {
  if (spec.transport === "stdio") return stdioLink(spec, deps);
  try {
    return await remoteLink(spec, deps);
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new ServerStartError(spec.name, `${spec.endpoint} is no URL with its secrets filled in.`);
  }
}
