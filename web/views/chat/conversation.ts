import type { components } from "../../api/schema.d.ts";
import { isRecord } from "../../components/schema/fields.ts";

export type ThreadTurn = components["schemas"]["ThreadTurn"];
export type Run = components["schemas"]["Run"];

/** An event of a run. */
interface RunEvent {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

export interface Attached {
  readonly name: string;
  readonly mime_type: string;
  readonly bytes: number;
}

/** What a person said. */
export interface Said {
  readonly id: string;
  /** Null for a message that the input rails refused. */
  readonly text: string | null;
  readonly attachments: readonly Attached[];
}

export interface Call {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  readonly output: unknown;
  /** Null while it has no result. */
  readonly outcome: string | null;
  readonly error: string | null;
  readonly ms: number | null;
  /** Names of the agents around it, outermost first. */
  readonly within: readonly string[];
}

/** What happens in a turn, in its order. */
export type Item =
  | { readonly kind: "said"; readonly said: Said }
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string; readonly within: readonly string[] }
  | { readonly kind: "call"; readonly call: Call; readonly step: string | null }
  /** The answer is made again. */
  | { readonly kind: "retry"; readonly reason: string };

export interface Usage {
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Null if a model has no known price. */
  readonly cost: number | null;
  readonly ms: number;
}

/** A turn as it is shown, from the server's list or from the events of a run. */
export interface Turn {
  readonly key: string;
  /** Null for a turn that the list does not have yet. */
  readonly number: number | null;
  readonly asked: readonly Said[];
  readonly items: readonly Item[];
  /** The parts of an answer that is being made. */
  readonly draft: string;
  readonly answer: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** How it ended, or what it waits for; null while it runs. */
  readonly end: string | null;
  /** Null until the server's list has the turn. */
  readonly usage: Usage | null;
  /** Ids of its steps, as `turn.step`. */
  readonly steps: readonly string[];
}

/** A turn that has just been asked for. */
export function newTurn(key: string, asked: readonly Said[] = []): Turn {
  return {
    key,
    number: null,
    asked,
    items: [],
    draft: "",
    answer: null,
    error: null,
    end: null,
    usage: null,
    steps: [],
  };
}

/** Returns a turn of the server's list. */
export function turnOf(of: ThreadTurn): Turn {
  const steps = of.steps;
  const items: Item[] = [];
  const added = [...of.added];
  let attempt = 0;
  for (const step of steps) {
    for (let next = added[0]; next !== undefined && next.step <= step.step; next = added[0]) {
      items.push({ kind: "said", said: next });
      added.shift();
    }
    if (step.attempt > attempt)
      items.push({ kind: "retry", reason: `attempt ${step.attempt + 1}` });
    attempt = step.attempt;
    const record = step.record ?? {};
    const reasoning = isRecord(record["reasoning"]) ? record["reasoning"]["text"] : "";
    if (typeof reasoning === "string" && reasoning !== "")
      items.push({ kind: "reasoning", text: reasoning });
    const whole = record["thought"];
    const thought = typeof whole === "string" ? whole : step.thought;
    if (thought.trim() !== "" && thought !== of.answer)
      items.push({ kind: "thought", text: thought, within: [] });
    items.push(...callsOf(step).map((call) => ({ kind: "call", call, step: step.id }) as const));
  }
  items.push(...added.map((said) => ({ kind: "said", said }) as const));
  const sum = (pick: (step: ThreadTurn["steps"][number]) => number) =>
    steps.reduce((total, step) => total + pick(step), 0);
  const isPriced = steps.every(({ cost_usd: cost }) => cost !== null);
  return {
    key: `turn ${of.turn}`,
    number: of.turn,
    asked: of.asked,
    items,
    draft: "",
    answer: of.answer,
    error: null,
    end: "complete",
    usage: {
      tokensIn: sum(({ tokens_in: tokens }) => tokens),
      tokensOut: sum(({ tokens_out: tokens }) => tokens),
      cost: isPriced ? sum(({ cost_usd: cost }) => cost ?? 0) : null,
      ms: sum(({ duration_ms: ms }) => ms),
    },
    steps: steps.map(({ id }) => id),
  };
}

function callsOf({ calls, record }: ThreadTurn["steps"][number]): readonly Call[] {
  const list = (name: string) => {
    const value: unknown = record?.[name];
    return Array.isArray(value) ? value.filter(isRecord) : [];
  };
  const results = list("tool_results");
  const predictions = list("tool_predictions");
  return calls.map(({ id, tool, outcome, error, latency_ms: ms }) => {
    const result = results.find((one) => one["id"] === id);
    const prediction = predictions.find((one) => one["id"] === id);
    const whole = result?.["error"];
    return {
      id,
      tool,
      input: result?.["args"] ?? prediction?.["args"],
      output: result?.["result"],
      outcome,
      error: typeof whole === "string" ? whole : error,
      ms: outcome === null ? null : ms,
      within: [],
    };
  });
}

/** Returns a turn after one more event of its run. Data of events is read as it may be: any JSON. */
export function withEvent(turn: Turn, { event, data }: Pick<RunEvent, "event" | "data">): Turn {
  const of = isRecord(data) ? data : {};
  const text = (name: string) => (typeof of[name] === "string" ? of[name] : "");
  const within = Array.isArray(of["within"]) ? of["within"].map(String) : [];
  // Events after a pause continue the turn.
  const going = event === "done" ? turn : { ...turn, end: null };
  switch (event) {
    case "message": {
      if (within.length > 0) return going;
      if (of["done"] !== true) return { ...going, draft: turn.draft + text("content") };
      return {
        ...going,
        draft: "",
        answer: text("content"),
        items: withoutAnswer(going.items, of),
      };
    }
    case "message_reset": {
      const retry = { kind: "retry", reason: text("reason") } as const;
      return { ...going, draft: "", items: [...going.items, retry] };
    }
    case "thought": {
      const thought = { kind: "thought", text: text("content"), within } as const;
      if (thought.text.trim() === "") return going;
      return {
        ...going,
        draft: within.length > 0 ? turn.draft : "",
        items: [...going.items, thought],
      };
    }
    case "tool_call": {
      const id = text("id");
      if (going.items.some((one) => isCall(one, { id, within }))) return going;
      const call: Call = {
        id,
        tool: text("tool"),
        input: of["input"],
        output: undefined,
        outcome: null,
        error: null,
        ms: null,
        within,
      };
      return { ...going, items: [...going.items, { kind: "call", call, step: null }] };
    }
    case "tool_result": {
      const result = {
        output: of["output"],
        outcome: text("outcome") || "success",
        error: typeof of["error"] === "string" ? of["error"] : null,
        ms: typeof of["latency_ms"] === "number" ? of["latency_ms"] : null,
      };
      return {
        ...going,
        items: going.items.map((one) =>
          one.kind === "call" && isCall(one, { id: text("id"), within })
            ? { ...one, call: { ...one.call, ...result } }
            : one,
        ),
      };
    }
    case "user_message": {
      const content = typeof of["content"] === "string" ? of["content"] : null;
      const said = { id: text("id"), text: content, attachments: [] };
      return { ...going, items: [...going.items, { kind: "said", said }] };
    }
    case "error":
      return { ...going, error: { code: text("code"), message: text("message") } };
    case "done":
      return { ...turn, draft: "", end: text("status") || "complete" };
    default:
      return going;
  }
}

function isCall(
  item: Item,
  { id, within }: { readonly id: string; readonly within: readonly string[] },
): boolean {
  return (
    item.kind === "call" && item.call.id === id && item.call.within.join("\n") === within.join("\n")
  );
}

/** The thought of the last step is the answer, where the agent does not write both. */
function withoutAnswer(
  items: readonly Item[],
  of: Readonly<Record<string, unknown>>,
): readonly Item[] {
  const last = items.at(-1);
  return last?.kind === "thought" && last.text === of["content"] ? items.slice(0, -1) : items;
}

/** Whether a turn is over: it neither runs nor waits. */
export function isOver({ end }: Pick<Turn, "end">): boolean {
  return end !== null && !end.startsWith("awaiting");
}

/** Whether a run takes the next turn. */
export function isRunOver(status: string): boolean {
  return ["complete", "failed", "cancelled", "dead"].includes(status);
}

/** Returns the events after the end of the last turn that was over: those of the turn under way. */
export function eventsOfOpenTurn<Event extends RunEvent>(
  events: readonly Event[],
): {
  readonly events: readonly Event[];
  /** Whether the end of the turn before is among the events. */
  readonly isWhole: boolean;
} {
  const end = events.findLastIndex(
    ({ event, data }) =>
      event === "done" && isRecord(data) && !String(data["status"]).startsWith("awaiting"),
  );
  return { events: events.slice(end + 1), isWhole: end >= 0 };
}
