import type { BaseMessage } from "@langchain/core/messages";
import { parsePartialJson } from "@langchain/core/output_parsers";
import { reasoningText } from "../models/replies/reasoning.ts";
import { isRecord } from "../values/json.ts";

/** The origin of streamed text. */
export interface TokenOrigin {
  /** The id of the message that the tokens are part of; empty if the provider gives none. */
  readonly message_id: string;
  /** The request of the model call, from 1; a reply that broke off is made again under the next number. */
  readonly attempt: number;
  /** The graph node that asked, and the agent nodes around it, outermost first. */
  readonly node: string;
  readonly within: readonly string[];
}

/** Listeners to what models write. */
export interface TokenListeners {
  readonly onToken?: ((text: string, of: TokenOrigin) => void) | undefined;
  readonly onReasoning?: ((text: string, of: TokenOrigin) => void) | undefined;
}

/**
 * Forwards a streamed token. Messages that nodes write are left out: model output was streamed already, and their events
 * report the rest.
 */
export function forwardToken(chunk: unknown, { onToken, onReasoning }: TokenListeners): void {
  const [message, of] = chunk as [BaseMessage, Readonly<Record<string, unknown>>];
  const isOfNode = of["name"] !== undefined && of["name"] === of["langgraph_node"];
  if (message.getType?.() !== "ai" || isOfNode) return;
  const { text } = message;
  const reasoning = onReasoning === undefined ? "" : reasoningText(message);
  if (text === "" && reasoning === "") return;
  const namespace = of["langgraph_checkpoint_ns"];
  const names = typeof namespace === "string" ? namespace.split("|") : [];
  const path = names.map((part) => part.slice(0, part.lastIndexOf(":")));
  const attempt = of["model_attempt"];
  const origin: TokenOrigin = {
    message_id: message.id ?? "",
    attempt: typeof attempt === "number" ? attempt : 1,
    node: path.at(-1) ?? "",
    within: path.slice(0, -1),
  };
  if (reasoning !== "") onReasoning?.(reasoning, origin);
  if (text !== "") onToken?.(text, origin);
}

/** Characters of a reply that are read while it streams. */
const mostCharacters = 256 * 1024;

/**
 * Reads the objects that a structured answer has so far from its streamed text. A reply that is made again, and every
 * further one, begins with nothing.
 */
export class PartialOutput {
  readonly #notify: (value: Readonly<Record<string, unknown>>) => void;
  #text = "";
  #reply = "";
  #last = "";
  /** Characters from which on the text is read again: longer texts are read more rarely. */
  #readFrom = 0;

  constructor(notify: (value: Readonly<Record<string, unknown>>) => void) {
    this.#notify = notify;
  }

  token(text: string, { message_id, attempt, within }: TokenOrigin): void {
    if (within.length > 0) return;
    const reply = `${message_id} ${attempt}`;
    if (reply !== this.#reply) {
      this.#reply = reply;
      this.#text = "";
      this.#last = "";
      this.#readFrom = 0;
    }
    this.#text += text;
    const { length } = this.#text;
    if (length < this.#readFrom || length > mostCharacters) return;
    this.#readFrom = length + Math.floor(length / 64);
    this.#read();
  }

  #read(): void {
    const start = this.#text.indexOf("{");
    // Before the object there may only be the beginning of a code block.
    if (start < 0 || !/^\s*(```\w*\s*)?$/.test(this.#text.slice(0, start))) return;
    const value = parsed(this.#text.slice(start).replace(/`+\s*$/, ""));
    if (!isRecord(value)) return;
    const json = JSON.stringify(value);
    if (json === this.#last) return;
    this.#last = json;
    this.#notify(value);
  }
}

function parsed(text: string): unknown {
  try {
    return parsePartialJson(text);
  } catch {
    return undefined;
  }
}
