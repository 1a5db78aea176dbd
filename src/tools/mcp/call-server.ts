import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { errorMessage } from "../../errors.ts";
import { cutText } from "../../state/cut-text.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { ToolFailure } from "../tool-failure.ts";
import { brokenAnswerCodes } from "./broken-answer.ts";
import { noTimeout, type Connection } from "./connection.ts";
import { ServerCallError, ServerDiedError } from "./errors.ts";
import { httpFailure } from "./http-failure.ts";
import { asSentence, plainMessage } from "./link.ts";
import { NotSentError } from "./stdio-transport.ts";
import type { ToolServer } from "./tool-server.ts";

export interface ServerCall {
  /** The server's own name of the tool. */
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** Cancels the request at the server. */
  readonly signal: AbortSignal;
}

/** Characters of what a server says of an error. */
const maxErrorCharacters = 2_000;

/**
 * Calls a tool of a server, which is started again where it is gone. Nothing is sent twice but what an HTTP server has
 * turned away since it no longer knows the session.
 * @throws ToolFailure where the server says that the tool failed; ServerCallError, ServerDiedError, ServerStartError,
 * MissingSecretError; the signal's reason
 */
export async function callServer(
  server: ToolServer,
  call: ServerCall,
  secrets: Secrets,
): Promise<CallToolResult> {
  const first = await attempt(server, call, secrets);
  if (first !== "session lost") return first;
  const second = await attempt(server, call, secrets);
  if (second !== "session lost") return second;
  throw new ServerCallError(
    server.spec.name,
    call.tool,
    "it does not know the session that it has just begun; check its endpoint.",
  );
}

function attempt(
  server: ToolServer,
  call: ServerCall,
  secrets: Secrets,
): Promise<CallToolResult | "session lost"> {
  const { tool, args, signal } = call;
  return server.use(signal, async (connection) => {
    let result: CallToolResult;
    try {
      // Not the SDK's `callTool`, which checks results by schemas that it would have had to list and compile itself.
      result = await connection.client.request(
        { method: "tools/call", params: { name: tool, arguments: args } },
        connection.packages.types.CallToolResultSchema,
        { signal, timeout: noTimeout },
      );
    } catch (thrown) {
      signal.throwIfAborted();
      if (httpFailure(thrown)?.isSessionLost === true) {
        server.drop(connection, "its session was lost; the next call begins another");
        return "session lost";
      }
      throw callError(thrown, { server, connection, tool, secrets });
    }
    server.answered();
    if (result.isError === true) throw new ToolFailure(errorText(result));
    return result;
  });
}

interface FailedCall {
  readonly server: ToolServer;
  readonly connection: Connection;
  readonly tool: string;
  readonly secrets: Secrets;
}

function callError(thrown: unknown, { server, connection, tool, secrets }: FailedCall): Error {
  const { name } = server.spec;
  const died = (text: string, retryable: boolean) => {
    const { exitCode } = connection.endProblem();
    const problem = `${text} ${retryable ? unsentAdvice : underWayAdvice}`;
    return new ServerDiedError(name, secrets.scrub(problem), { exitCode, retryable });
  };
  if (thrown instanceof NotSentError) return died(connection.endProblem().text, true);
  const failure = httpFailure(thrown);
  if (failure?.isLost === true) {
    return died(asSentence(capitalised(failure.problem)), failure.isUnsent);
  }
  if (failure !== undefined) {
    const { status } = failure;
    return new ServerCallError(name, tool, secrets.scrub(asSentence(failure.problem)), { status });
  }
  const { code } = thrown as { code?: unknown };
  const said = cutText(plainMessage(errorMessage(thrown)), maxErrorCharacters);
  if (code === brokenAnswerCodes.lost) return died(asSentence(capitalised(said)), false);
  if (!connection.isOpen() && code !== brokenAnswerCodes.unreadable) {
    return died(connection.endProblem().text, false);
  }
  // Whatever it answered, it is there.
  server.answered();
  if (thrown instanceof z.core.$ZodError) {
    return new ServerCallError(name, tool, "its answer is no result of a tool call.");
  }
  return new ServerCallError(name, tool, secrets.scrub(asSentence(said)));
}

const unsentAdvice = "The call was not sent; it may be made again.";
const underWayAdvice = "Whether the call was carried out is not known.";

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function errorText({ content }: CallToolResult): string {
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  return text.trim() === "" ? "The tool failed, and its server did not say why." : text.trim();
}
