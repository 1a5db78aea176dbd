import type { Silence } from "../openai-server.ts";

/** What the server does with the next chat, in no provider's own terms; a dialect renders it. */
export type WireEntry =
  | WireReply
  /** Refuses the request as the provider does in this case. */
  | { readonly refuse: Refusal; readonly retryAfter?: number }
  /** Says nothing until it is released; then replies with the text. */
  | { readonly silent: Silence };

export interface WireReply {
  readonly text?: string;
  readonly reasoning?: WireReasoning;
  readonly calls?: readonly WireCall[];
  /** Default: `stop`, or the provider's own reason where there are calls. */
  readonly finish?: WireFinish;
  /** Null for a server that counts nothing. Default {@link defaultUsage}. */
  readonly usage?: WireUsage | null;
  /** Awaited in the middle of a stream, whose other half is sent when it is released. */
  readonly pause?: Silence;
  /** Half of the reply, whereupon the connection is destroyed or closed politely, or the stream says an error. */
  readonly cut?: "destroyed" | "closed" | "error";
}

export interface WireReasoning {
  readonly text: string;
  /** Sent where the provider signs reasoning. */
  readonly signature?: string;
}

export interface WireCall {
  readonly name: string;
  readonly args: object;
  /** Default: an id in the provider's form, or none where it gives none. */
  readonly id?: string;
}

/** How a reply ends. `prompt_blocked`: no reply, since the provider filtered the request. */
export type WireFinish = "stop" | "length" | "content_filter" | "refusal" | "prompt_blocked";

/** Tokens. */
export interface WireUsage {
  /** All tokens of the request, those read from a cache included. */
  readonly input: number;
  /** All tokens of the reply, those of its reasoning included. */
  readonly output: number;
  readonly cached?: number;
  readonly reasoning?: number;
}

export type Refusal =
  /** The key is wrong. */
  | "auth"
  /** The key is right, and not allowed to do this. */
  | "forbidden"
  | "no_model"
  | "invalid"
  | "rate_limit"
  | "quota"
  | "overflow"
  | "server"
  | "overloaded"
  /** The request is filtered. */
  | "content_filter"
  /** The model wrote a call that the provider could not read. */
  | "bad_call";

const defaultUsage: WireUsage = { input: 100, output: 20 };

export interface WireRequest {
  readonly method: string;
  /** Below the dialect's address, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RefusedAs {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

/** One provider's published protocol: pure functions from a script's entry to what is written. */
export interface Dialect {
  /** Whether the request is a chat; everything else gets a 404. */
  isChat(request: WireRequest): boolean;
  isStreamed(request: WireRequest): boolean;
  /** `content-type` of a stream. */
  readonly streamType: string;
  whole(reply: WireReply, request: WireRequest): object;
  /** What is written one after the other; half of it for a reply that is cut. */
  stream(reply: WireReply, request: WireRequest): readonly (string | Uint8Array)[];
  /** What a stream says when it fails in the middle; null where the protocol has no words for it. */
  streamError: string | Uint8Array | null;
  /** @returns null where the provider never refuses so */
  refusal(kind: Refusal, retryAfter: number | undefined): RefusedAs | null;
}

/** A dialect's word for an end. @throws Error where the provider has none */
export function wordFor<T>(known: Partial<Record<WireFinish, T>>, finish: WireFinish): T {
  const word = known[finish];
  if (word === undefined) throw new Error(`The provider has no word for the end "${finish}"`);
  return word;
}

export function usageOf(reply: WireReply): WireUsage | null {
  return reply.usage === undefined ? defaultUsage : reply.usage;
}

/** A text in the parts in which it is streamed. */
export function words(text: string | undefined): readonly string[] {
  return text?.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

/** An object's JSON in two parts, cut inside of it. */
export function halves(value: object): readonly [string, string] {
  const text = JSON.stringify(value);
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

/** A server-sent event. */
export function event(data: object, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}
