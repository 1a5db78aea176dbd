import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Clock } from "../../clock.ts";
import { StratagraphError } from "../../errors.ts";
import { isAttachmentReference, isTextAttachment } from "../../state/attachment.ts";
import type { CallLog, CallPurpose, LoggedPlace } from "./call-log.ts";
import { noUsage } from "../../state/usage.ts";
import { toJson } from "../../values/bounded-json.ts";
import { isRecord } from "../../values/json.ts";
import { headOf } from "../../values/text.ts";
import type { AgentModel, MadeRequest, ModelReply, ModelRequest } from "../agent-model.ts";
import { classifyFailure } from "../failure.ts";

/** Bytes of JSON that a request and its response are each logged with. */
const mostBytes = 256 * 1024;
/** Bytes of one message of a request that is too long. */
const mostMessageBytes = 32 * 1024;

/** A call, and how it is logged. */
export interface LoggedCall extends LoggedPlace {
  readonly log: CallLog;
  readonly clock: Clock;
  readonly purpose: CallPurpose;
  readonly step: number | null;
  /** Whether output rails may still redact or refuse the text that comes. */
  readonly withholdsText: boolean;
  /** Replaces secrets. */
  readonly scrub: (value: unknown) => unknown;
  /** Replaces the values that rails have redacted so far. */
  readonly redact: (value: unknown) => unknown;
}

/**
 * Calls a model, and logs each request that is made for the reply: failed and cancelled ones, retries and fallbacks too.
 *
 * @throws what the model throws
 */
export async function callLogged(
  model: AgentModel,
  request: ModelRequest,
  config: RunnableConfig,
  of: LoggedCall,
): Promise<ModelReply> {
  const { log, clock, threadId, turnId, agent, purpose, step } = of;
  let messages: unknown;
  let isReported = false;
  const onRequest = (made: MadeRequest) => {
    isReported = true;
    const { message, ...record } = made;
    messages ??= of.scrub(loggedMessages(request.messages, of));
    const response = message === null ? null : of.scrub(loggedResponse(message, request, of));
    log.modelCall({ threadId, turnId, agent, purpose, step, ...record, messages, response });
  };
  const begun = clock.monotonic();
  const isAborted = config.signal?.aborted === true;
  // A model of the caller's own may report nothing: its calls are logged as one request each.
  const own = () => {
    const latency_ms = Math.round(clock.monotonic() - begun);
    return { attempt: 1, latency_ms, first_token_ms: null };
  };
  try {
    const reply = await model.call({ ...request, onRequest }, config);
    const { message, usage, finish: outcome } = reply;
    if (!isReported) onRequest({ ...own(), model: reply.model, outcome, message, usage });
    return reply;
  } catch (thrown) {
    const isCancelled = config.signal?.aborted === true;
    // What was refused before the model was asked is no request.
    const isMade = !isAborted && (isCancelled || !(thrown instanceof StratagraphError));
    if (!isReported && isMade) {
      const outcome = isCancelled ? "cancelled" : classifyFailure(thrown).reason;
      onRequest({ ...own(), model: model.ref, outcome, message: null, usage: noUsage });
    }
    throw thrown;
  }
}

/**
 * Returns the messages of a request as JSON. Of a request that is too long, long messages are cut (`truncated: true`),
 * and those in the middle are left out: `{ omitted_messages: 12 }` is in their place.
 */
function loggedMessages(messages: readonly BaseMessage[], of: LoggedCall): readonly unknown[] {
  const logged: readonly LoggedMessage[] = messages.map((message) =>
    isWithheld(message, of) ? { role: message.type, withheld: true } : loggedMessage(message),
  );
  const sizes = logged.map(bytesOf);
  const whole = sizes.reduce((sum, bytes) => sum + bytes, 0);
  if (whole <= mostBytes) return logged;
  const cut = logged.map((message, at) =>
    sizes[at]! <= mostMessageBytes ? message : cutMessage(message),
  );
  let room = mostBytes - bytesOf(cut[0]);
  let from = cut.length;
  while (from > 1) {
    room -= bytesOf(cut[from - 1]);
    if (room < 0) break;
    from -= 1;
  }
  return from <= 1 ? cut : [cut[0], { omitted_messages: from - 1 }, ...cut.slice(from)];
}

/** Returns whether a message holds values that rails may yet redact or refuse: those that a judge reads. */
function isWithheld({ type }: BaseMessage, { purpose, withholdsText }: LoggedCall): boolean {
  return type !== "system" && (purpose === "rail" || (purpose === "judging" && withholdsText));
}

interface LoggedMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly unknown[];
  readonly tool_call_id?: string;
  readonly truncated?: true;
  readonly withheld?: true;
}

function loggedMessage(message: BaseMessage): LoggedMessage {
  const { type: role, content } = message;
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  return {
    role,
    content: typeof content === "string" ? content : content.map(loggedBlock),
    ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
    ...(ToolMessage.isInstance(message) && { tool_call_id: message.tool_call_id }),
  };
}

function callOf({ id, name, args }: { id?: string; name: string; args: unknown }) {
  return { id: id ?? null, name, args };
}

/** Returns texts and references as they are; bytes are never logged. */
function loggedBlock(block: unknown): unknown {
  if (isAttachmentReference(block) || isTextAttachment(block)) return block;
  if (!isRecord(block)) return null;
  const { type } = block;
  if (type === "text") return { type, text: block["text"] };
  const url = isRecord(block["image_url"]) ? block["image_url"]["url"] : block["image_url"];
  const isLink = typeof url === "string" && !url.startsWith("data:");
  return isLink ? { type, url } : { type, omitted: true };
}

function cutMessage(message: LoggedMessage): LoggedMessage {
  const { role, content, tool_call_id } = message;
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return {
    role,
    content: headOf(text, mostMessageBytes / 4),
    ...(tool_call_id !== undefined && { tool_call_id }),
    truncated: true,
  };
}

/** Returns about how many bytes of JSON a message takes. */
function bytesOf(message: LoggedMessage | undefined): number {
  const { content, tool_calls } = message ?? {};
  const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "");
  return (
    64 + Buffer.byteLength(text) + (tool_calls ? Buffer.byteLength(JSON.stringify(tool_calls)) : 0)
  );
}

/** Returns a reply as JSON. Text that output rails have yet to check is left out: `withheld: true` says so. */
function loggedResponse(
  message: AIMessage,
  { answer, format }: ModelRequest,
  { purpose, withholdsText: isUnchecked, redact }: LoggedCall,
): unknown {
  const withholdsText = isUnchecked || purpose === "rail";
  const { text, tool_calls: calls = [] } = message;
  // A structured answer comes as the arguments of a call.
  const isHidden = withholdsText && (answer !== undefined || format !== undefined);
  const shown = calls.map((call) => (isHidden ? { ...callOf(call), args: null } : callOf(call)));
  const response = {
    content: withholdsText ? null : text,
    ...(calls.length > 0 && { tool_calls: shown }),
    ...(withholdsText && { withheld: true }),
  };
  const { value, whole } = toJson(redact(response), mostBytes);
  return whole || !isRecord(value) ? value : { ...value, truncated: true };
}
