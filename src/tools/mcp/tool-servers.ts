import type { ServerSpec } from "../../definition/schema/servers.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";

/** What a server offers. */
export interface ServerTools {
  /** In the server's order, under the names that agents use. */
  readonly tools: readonly AgentTool[];
  /** Tools that cannot be used, and why; for people. */
  readonly problems: readonly string[];
}

export interface ServerStatus {
  readonly name: string;
  readonly transport: ServerSpec["transport"];
  readonly state: "connected" | "restarting" | "down" | "closed";
  /** How often it was started again. */
  readonly restarts: number;
  /** Why it is not connected; null where it is. */
  readonly problem: string | null;
}

/** The MCP servers of a process: each is started once, whatever number of agents use it. */
export interface ToolServers {
  /**
   * Starts the server if need be and lists its tools. Two specs are one server where they are the same.
   * @throws ServerStartError, ServerToolsError, MissingSecretError
   */
  connect(spec: ServerSpec): Promise<ServerTools>;
  status(): readonly ServerStatus[];
  /** Ends all of them, and the processes that were started. Calls under way end with an error. */
  close(): Promise<void>;
}

// None of these keeps a `cause`: what the transports throw may hold headers and addresses with secrets in them.

/** A server of tools could not be started or reached. */
export class ServerStartError extends StratagraphError {
  readonly code = "server_start";
  override readonly kind = "run";
  override readonly transient: boolean;
  /** A call that was to start it was never sent, so it may be made again. */
  readonly retryable: boolean;

  /** `problem` is one or more whole sentences: what came, and what to do. */
  constructor(
    readonly server: string,
    problem: string,
    { transient = false }: { readonly transient?: boolean } = {},
  ) {
    super(`The tool server "${server}" could not be started. ${problem}`);
    this.transient = transient;
    this.retryable = transient;
  }
}

/** A server lists tools that cannot be used as they are, or lacks some that are asked for. */
export class ServerToolsError extends StratagraphError {
  readonly code = "server_tools";
  override readonly kind = "run";

  constructor(
    readonly server: string,
    problem: string,
  ) {
    super(`The tools of the server "${server}" cannot be used. ${problem}`);
  }
}

export interface ServerDeath {
  /** Of its process, where it ended by itself. */
  readonly exitCode?: number | null;
  /** Whether the request surely never reached the server. Default false. */
  readonly retryable?: boolean;
}

/** The connection to a server was lost, or there is none at the moment. */
export class ServerDiedError extends StratagraphError {
  readonly code = "server_died";
  override readonly kind = "run";
  override readonly transient = true;
  readonly exitCode: number | null;
  readonly retryable: boolean;

  constructor(
    readonly server: string,
    problem: string,
    { exitCode = null, retryable = false }: ServerDeath = {},
  ) {
    super(`The tool server "${server}" is gone. ${problem}`);
    this.exitCode = exitCode;
    this.retryable = retryable;
  }
}

/** A server answered a call with an error of the protocol, or with what is no answer. */
export class ServerCallError extends StratagraphError {
  readonly code = "server_call";
  override readonly kind = "run";
  override readonly transient: boolean;
  /** The status of the HTTP answer, or null. */
  readonly status: number | null;

  constructor(
    readonly server: string,
    readonly tool: string,
    problem: string,
    { status = null }: { readonly status?: number | null } = {},
  ) {
    super(`The server "${server}" did not carry out the call of its tool "${tool}": ${problem}`);
    this.status = status;
    this.transient = status === 429 || (status !== null && status >= 500);
  }
}
