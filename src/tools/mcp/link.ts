import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

/** A way to a server, as its transport needs it. Texts may hold secrets. */
export interface Link {
  readonly transport: Transport;
  /** Why there is no connection; `thrown` is what opening it came to. */
  startProblem(thrown: unknown): LinkProblem;
  /** Why the connection ended. */
  endProblem(): LinkProblem;
  /** Lets go of the server; `isReady` where it has answered before. */
  close(isReady: boolean): Promise<void>;
}

export interface LinkProblem {
  /** Whole sentences. */
  readonly text: string;
  readonly exitCode: number | null;
  /** Whether it may be otherwise a little later. */
  readonly isTransient: boolean;
}

/** Why opening a connection was given up. The message is a whole sentence. */
export class OpenAbortedError extends Error {}

/** A text as the end of a sentence. */
export function asSentence(text: string): string {
  return /[.!?]\s*$/.test(text) ? text.trim() : `${text.trim()}.`;
}

/** What a server said, or what was thrown at the start; without what the SDK puts before it. */
export function plainMessage(message: string): string {
  return message.replace(/^(?:McpError: )?MCP error -?\d+: /, "");
}
