import type { Clock } from "../../../clock.ts";
import type { TokenOrigin } from "../../../runtime/streamed-text.ts";
import type { AgentEvent, EventOrigin } from "../../../state/events.ts";
import { headOf } from "../../../values/text.ts";
import { count, duration, secondOf } from "../figures.ts";
import { type LineRenderer, StreamedText } from "../streamed-text.ts";
import { cutToWidth, plainLine, type Style, textWidth, wrapText } from "../terminal.ts";

export interface ModelViewOptions {
  /** Columns that a live line may take. */
  readonly width: number;
  readonly style: Style;
  readonly clock: Clock;
  /** Renders the lines of a streamed text. Default: wrapped, without markup. */
  readonly render?: LineRenderer;
  /** Whether the reasoning is shown whole, instead of its duration and length. */
  readonly showReasoning: boolean;
}

/** Columns before lines that are printed, as before those of a step. */
const margin = " ".repeat(5);
/** Milliseconds without a token from which on that is said. */
const slowMs = 10_000;
/** Characters at the end of what is thought, of which the last words are shown. */
const tailCharacters = 1000;
/** Ids of streamed messages that are kept, to tell concurrent ones apart. */
const mostIds = 1000;

/** The one text that is shown while it streams. */
interface Stream {
  readonly node: string;
  readonly message: string;
  readonly attempt: number;
  text: StreamedText | null;
  thought: Thought | null;
}

/** What a model thinks before it replies. */
interface Thought {
  readonly since: number;
  /** When its last part came. */
  until: number;
  tail: string;
  /** All of it, where it is shown whole. */
  readonly whole: StreamedText | null;
  words: number;
  /** Whether the last part ended inside of a word. */
  inWord: boolean;
}

/** A model call under way. */
interface Call {
  readonly model: string;
  /** Why it waits; null while tokens come. */
  waits: string | null;
  /** The model that it takes over from, and why. */
  readonly instead: string | null;
  /** When it was asked, or its last token came; null while it waits until a set time. */
  heard: number | null;
}

/**
 * What models do during a run: the text that one streams, what it thinks, and what calls wait for. Only the text of the
 * outermost graph is shown; of concurrent nodes, that of the one that began first.
 */
export class ModelView {
  readonly #options: ModelViewOptions;
  #stream: Stream | null = null;
  /** Ids of the messages of the streaming node. */
  readonly #ids = new Set<string>();
  /** By node; the last is the latest. */
  readonly #calls = new Map<string, Call>();
  /** When the last event or token came, or the next try is due. */
  #last: number | null = null;

  constructor(options: ModelViewOptions) {
    this.#options = options;
  }

  token(text: string, of: TokenOrigin): void {
    const stream = this.#streamOf(of);
    this.#heard(of, stream !== null);
    if (stream === null) return;
    stream.text ??= new StreamedText(this.#options.render ?? this.#wrapped);
    stream.text.append(text);
  }

  reasoning(text: string, of: TokenOrigin): void {
    const stream = this.#streamOf(of);
    this.#heard(of, stream !== null);
    if (stream === null) return;
    const now = this.#options.clock.monotonic();
    stream.thought ??= this.#newThought(now);
    const { thought } = stream;
    const goesOn = thought.inWord && /^\S/.test(text);
    thought.words += (text.match(/\S+/g)?.length ?? 0) - (goesOn ? 1 : 0);
    thought.inWord = /\S$/.test(text);
    thought.until = now;
    thought.tail = (thought.tail + text).slice(-tailCharacters);
    thought.whole?.append(text);
  }

  /** Returns the lines to print before those of the event. The text goes when the lines of its step are printed. */
  event(event: AgentEvent): readonly string[] {
    this.#follow(event);
    if (event.within.length > 0 || !this.#isStreaming(event)) return [];
    switch (event.type) {
      case "message_reset": {
        const isShown = this.#stream?.text != null || this.#stream?.thought != null;
        this.#stop();
        if (!isShown) return [];
        const line = `the reply begins again: ${reasonText(event.reason)}`;
        return [margin + this.#options.style.dim(cutToWidth(line, this.#room))];
      }
      case "attempt_failed":
        this.#stop();
        return [];
      case "tool_call":
      case "tool_result": {
        const lines = this.#thoughtLines();
        this.#stop();
        return lines;
      }
      case "step": {
        const lines = this.#thoughtLines();
        const isAnswer = event.step.next_action === "finish" && event.node === "reason";
        // The answer is printed when the turn has ended.
        if (!isAnswer) this.#stop();
        else if (this.#stream !== null) this.#stream.thought = null;
        return lines;
      }
      default:
        return [];
    }
  }

  /** The live lines: the end of what is thought, and the text that is written. */
  get lines(): readonly string[] {
    const { text = null, thought = null } = this.#stream ?? {};
    if (thought === null) return text?.lines ?? [];
    const { style, width } = this.#options;
    if (thought.whole !== null) return [...thought.whole.lines, ...(text?.lines ?? [])];
    if (text !== null) return [style.dim(thoughtSummary(thought)), ...text.lines];
    const label = "thinking: ";
    const words = lastWords(thought.tail, width - label.length - 1);
    return [style.dim(`${label}${words}…`)];
  }

  /** What is waited for; null if nothing is. Changes with time. */
  get activity(): string | null {
    const call = [...this.#calls.values()].at(-1);
    if (call === undefined) return null;
    const { clock } = this.#options;
    const silent = call.heard === null ? 0 : clock.monotonic() - call.heard;
    if (silent >= slowMs) {
      return `no token from ${call.model} for ${Math.floor(silent / 1000)} s`;
    }
    return call.waits;
  }

  /** The run has ended without an answer: returns the text that was streamed, which no step shows. */
  cut(): readonly string[] {
    const lines = this.#stream?.text?.lines ?? [];
    this.#stop();
    return lines;
  }

  get #room(): number {
    return Math.max(20, this.#options.width - margin.length);
  }

  readonly #wrapped: LineRenderer = (line) => {
    const lines = wrapText(line, this.#room).map((wrapped) => margin + wrapped);
    return { lines, inside: "" };
  };

  /** The text that tokens belong to; null if they are not shown. */
  #streamOf({ node, within, message_id: message, attempt }: TokenOrigin): Stream | null {
    if (within.length > 0 || unshown.has(node)) return null;
    const shown = this.#stream;
    if (shown !== null) {
      if (shown.node !== node) return null;
      if (shown.message === message && shown.attempt === attempt) return shown;
      // A message that began earlier is a concurrent one.
      if (shown.message !== message && this.#ids.has(message)) return null;
    }
    if (this.#ids.size >= mostIds) this.#ids.clear();
    this.#ids.add(message);
    this.#stream = { node, message, attempt, text: null, thought: null };
    return this.#stream;
  }

  #stop(): void {
    this.#stream = null;
    this.#ids.clear();
  }

  /** Whether the event is of the node whose text is shown. The calls of the standard loop run in a node of their own. */
  #isStreaming({ node }: EventOrigin): boolean {
    const shown = this.#stream?.node;
    return shown === node || (shown === "reason" && unshown.has(node));
  }

  #thoughtLines(): readonly string[] {
    const thought = this.#stream?.thought ?? null;
    if (thought === null) return [];
    return thought.whole?.lines ?? [margin + this.#options.style.dim(thoughtSummary(thought))];
  }

  #newThought(now: number): Thought {
    const { style, showReasoning } = this.#options;
    const render: LineRenderer = (line, inside) => {
      const { lines } = this.#wrapped(line, inside);
      return { lines: lines.map((one) => (one.trim() === "" ? "" : style.dim(one))), inside };
    };
    const whole = showReasoning ? new StreamedText(render) : null;
    return { since: now, until: now, tail: "", whole, words: 0, inWord: false };
  }

  #heard(of: Pick<EventOrigin, "node" | "within">, isShown: boolean): void {
    const now = this.#options.clock.monotonic();
    this.#last = now;
    const key = keyOf(of);
    const call = this.#calls.get(key);
    if (call !== undefined) {
      call.waits = null;
      call.heard = now;
    } else if (isShown) {
      this.#calls.set(key, { model: "the model", waits: null, instead: null, heard: now });
    }
  }

  /** Follows the model calls of all nodes, those of agents inside included. */
  #follow(event: AgentEvent): void {
    const key = keyOf(event);
    const call = this.#calls.get(key);
    const { clock } = this.#options;
    const now = clock.monotonic();
    const last = this.#last ?? now;
    this.#last = now;
    switch (event.type) {
      case "model_wait": {
        const model = shortModel(event.model);
        const instead = call?.model === model ? call.instead : null;
        const isAsked = event.reason === firstToken;
        const waits = isAsked ? (instead ?? `waiting for ${model}`) : retryText(event);
        this.#calls.delete(key);
        // The event comes some seconds after the request.
        this.#calls.set(key, { model, waits, instead, heard: isAsked ? last : null });
        const until = isAsked || event.until === null ? Number.NaN : Date.parse(event.until);
        this.#last = now + (Math.max(0, until - clock.now().getTime()) || 0);
        return;
      }
      case "model_fallback": {
        const model = shortModel(event.to);
        const instead = `${model} instead of ${shortModel(event.from)}: ${reasonText(event.reason)}`;
        this.#calls.delete(key);
        this.#calls.set(key, { model, waits: instead, instead, heard: now });
        return;
      }
      case "thought":
      case "tool_call":
      case "step":
      case "node":
      case "plan":
      case "gap":
      case "synthesis":
        this.#calls.delete(key);
        return;
      case "done": {
        const inside = JSON.stringify(event.within).slice(0, -1);
        for (const known of this.#calls.keys()) {
          if (known.startsWith(inside)) this.#calls.delete(known);
        }
        return;
      }
      default:
        return;
    }
  }
}

const firstToken = "first_token";

/** Nodes whose models do not speak to the person: their texts are plans, judgements and summaries. */
const unshown = new Set(["initialize", "plan", "tools", "reflect", "finalize"]);

function keyOf({ within, node }: Pick<EventOrigin, "node" | "within">): string {
  return JSON.stringify([...within, node]);
}

function shortModel(model: string): string {
  return plainLine(headOf(model, 100));
}

const reasons: Readonly<Record<string, string>> = {
  rate_limit: "rate limited",
  quota: "quota used up",
  outage: "no answer",
  timeout: "no answer in time",
  context_overflow: "context too long",
  bad_reply: "unreadable reply",
  auth: "access refused",
};

/** The words for a reason of a failed model call; a reason that is unknown here stands for itself. */
function reasonText(reason: string): string {
  const known = Object.hasOwn(reasons, reason) ? reasons[reason] : undefined;
  return known ?? plainLine(headOf(reason, 200)).replaceAll("_", " ");
}

function retryText({ reason, until }: { reason: string; until: string | null }): string {
  const when = until === null ? "" : ` at ${plainLine(secondOf(until))} UTC`;
  return `${reasonText(reason)}, retrying${when}`;
}

function thoughtSummary({ since, until, words }: Thought): string {
  return `thought for ${duration(until - since)} (${count(words, "word")})`;
}

/** Words at the end of a text that fit. */
function lastWords(text: string, width: number): string {
  const words = plainLine(text).split(" ");
  let shown = "";
  for (const word of words.toReversed()) {
    const longer = shown === "" ? word : `${word} ${shown}`;
    if (textWidth(longer) > width) break;
    shown = longer;
  }
  return shown;
}
