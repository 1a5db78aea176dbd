import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { hideKnown, restore } from "../../guardrails/redaction.ts";
import type { RailContext } from "../../guardrails/rail.ts";
import { RedactionBook } from "../../guardrails/redaction-book.ts";
import { runRails, type RailResult, type RailsEnd } from "../../guardrails/run-rails.ts";
import { textsOf } from "../../guardrails/value-texts.ts";
import type { AgentEventBody } from "../../state/event.ts";
import type { RailRecord, RailSide } from "../../state/rail-record.ts";
import type { Redactions } from "../../state/redactions.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import type { CallFinding } from "../../tools/argument-rules.ts";
import type { AskModel } from "./ask-model.ts";
import type { LoopParts } from "./parts.ts";

/** Where in a turn something is checked. */
export interface RailPlace {
  readonly turnNumber: number;
  readonly attemptNumber: number;
  /** Null on input and output. */
  readonly stepIndex: number | null;
  readonly callId: string | null;
}

export interface RailCheck {
  readonly on: Exclude<RailSide, "tool_call">;
  readonly value: unknown;
  readonly tool: string | null;
  /** What the person asked. */
  readonly request: string;
  /** What an answer may rest on; empty on input and results. */
  readonly evidence: readonly string[];
}

/** Runs the rails of one node, and keeps what they say and what they redact until it is written. */
export interface RailDesk {
  check(of: RailCheck, place: RailPlace): Promise<RailsEnd>;
  /** Writes down what tool rails found of a call. */
  note(
    call: ToolPrediction,
    findings: readonly CallFinding[],
    place: Omit<RailPlace, "callId">,
  ): void;
  /** A value with what stands for its marks; `own` without those of the agents around. */
  reveal<T>(value: T, own?: "own"): T;
  /** A value with the mark of everything that was ever redacted in the thread; what only looks like a mark is reserved. */
  hide<T>(value: T): T;
  /** All that the thread and the agents around it know. */
  redactions(): Redactions;
  /** What the node has to write. */
  made(): { readonly rails?: readonly RailRecord[]; readonly redactions?: Redactions };
}

export interface RailDeskOptions {
  readonly parts: LoopParts;
  readonly signal: AbortSignal;
  /** Of the thread. */
  readonly redactions: Redactions;
  /** Of the agents around. */
  readonly inherited: Redactions;
  /** Put after the labels of marks that are made; set where nodes beside this one make some too. */
  readonly suffix?: string;
  readonly ask: AskModel;
  readonly emit: (body: AgentEventBody, of: { turnNumber: number; attemptNumber: number }) => void;
}

export function railDesk(options: RailDeskOptions): RailDesk {
  const { parts, signal, inherited, suffix = "", emit } = options;
  const { clock, rails } = parts;
  const isAny = Object.keys(inherited).length > 0;
  const known = isAny ? { ...inherited, ...options.redactions } : options.redactions;
  const book = new RedactionBook(known, { suffix });
  const makesMarks = rails.input.length + rails.output.length > 0;
  const records: RailRecord[] = [];
  const record = (result: RailResult, place: RailPlace) => {
    const made: RailRecord = {
      turn_number: place.turnNumber,
      attempt_number: place.attemptNumber,
      step_index: place.stepIndex,
      call_id: place.callId,
      timestamp: clock.now().toISOString(),
      ...result,
    };
    records.push(made);
    emit({ type: "rail", record: made }, place);
  };
  // A rail may repeat what it was given, and what went wrong a key that it used.
  const clean = (reason: string) =>
    hideKnown(parts.secrets?.scrub(reason) ?? reason, book.redactions) as string;
  const isEmpty = (redactions: Redactions) => Object.keys(redactions).length === 0;
  return {
    async check(of, place) {
      const { on, value, tool, request, evidence } = of;
      const context: RailContext = {
        signal,
        embeddings: parts.embeddings,
        request,
        evidence,
        ask: (model, asked) => askModel(options, model, asked),
        resolveSecrets: async (text) => (await parts.secrets?.resolve(text)) ?? text,
      };
      const list = on === "output" ? rails.output : rails.input;
      // What leaves is not to come back: its marks stand for themselves.
      const used = on === "output" ? book.copy() : book;
      const run = { context, clock, book: used, clean };
      const end = await runRails(list, { on, value, tool }, run);
      if (used !== book) book.enter(forGood(without(used.redactions, known)));
      for (const result of end.results) record(result, place);
      return end;
    },
    note(call, findings, place) {
      for (const { rail, verdict, reason } of findings) {
        const reasons = reason === "" ? [] : [clean(reason)];
        const score = verdict === "pass" ? 0 : 1;
        const result = {
          rail,
          on: "tool_call",
          verdict,
          score,
          spans: [],
          reasons,
          time_ms: 0,
        } as const;
        record(result, { ...place, callId: call.id });
      }
    },
    reveal<T>(value: T, own?: "own") {
      const all = book.redactions;
      return restore(value, own === undefined ? all : without(all, inherited)) as T;
    },
    hide<T>(value: T) {
      // What no rail looks at may have texts of a mark's form too.
      if (makesMarks) for (const { text } of textsOf(value).leaves) book.reserve(text);
      return hideKnown(value, book.redactions) as T;
    },
    redactions: () => book.redactions,
    made: () => {
      const added = without(book.redactions, known);
      return {
        ...(records.length > 0 && { rails: records }),
        ...(!isEmpty(added) && { redactions: added }),
      };
    },
  };
}

/** Marks whose values nobody gets again, and whose numbers are not given again. */
function forGood(made: Redactions): Redactions {
  return Object.fromEntries(
    Object.entries(made).map(([mark, { label }]) => [mark, { label, value: mark }]),
  );
}

function without(all: Redactions, those: Redactions): Redactions {
  if (all === those) return {};
  return Object.fromEntries(Object.entries(all).filter(([mark]) => !Object.hasOwn(those, mark)));
}

/** A judge's reply; it is nobody's to see as it comes. */
async function askModel(
  { parts, ask }: RailDeskOptions,
  ref: string,
  { system, user }: { readonly system: string; readonly user: string },
): Promise<string> {
  const model = await parts.railModel(ref);
  const messages = [new SystemMessage(system), new HumanMessage(user)];
  const reply = await ask(model, { messages }, "unseen");
  return reply.message.text;
}
