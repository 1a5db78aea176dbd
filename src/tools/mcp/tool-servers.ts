import type { ServerSpec } from "../../definition/server-schema.ts";
import type { AgentTool } from "../../definition/tool.ts";

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
