import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { AgentRails } from "../../guardrails/create-rails.ts";
import type { Rail, RailContext } from "../../guardrails/rail.ts";
import { RedactionBook } from "../../guardrails/redaction-book.ts";
import { hideKnown, restore } from "../../guardrails/redaction.ts";
import { runRails, type RailResult } from "../../guardrails/run-rails.ts";
import { textsOf } from "../../guardrails/value-texts.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { RailRecord } from "../../state/rail-record.ts";
import type { Redactions } from "../../state/redactions.ts";
import type { RailDesk, RailDeskOptions, RailPlace } from "./rail-desk.ts";

/** The desk of a node where there is something to check, to hide or to write down. */
export function workingDesk(options: RailDeskOptions): RailDesk {
  const { parts, signal, inherited, suffix = "", emit } = options;
  const { clock, rails } = parts;
  const isAny = !isEmpty(inherited);
  const known = isAny ? { ...inherited, ...options.redactions } : options.redactions;
  const book = new RedactionBook(known, { suffix });
  const makesMarks = areRails(rails);
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
  return {
    isIdle: false,
    async check(of, place) {
      const { on, value, tool, request, evidence } = of;
      const list = rails[of.rails ?? on];
      const context = (rail: Rail): RailContext => ({
        signal,
        embeddings: parts.embeddings,
        request,
        evidence,
        ask: async (ref, asked) => askModel(options, await parts.railModel(ref, rail), asked),
        resolveSecrets: async (text) => (await parts.secrets?.resolve(text)) ?? text,
      });
      // What leaves is not to come back: its marks stand for themselves.
      const used = on === "output" ? book.copy() : book;
      const reveal = (marked: unknown) => restore(marked, book.redactions);
      const run = { context, clock, book: used, reveal, clean };
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
    enter(redactions) {
      book.enter(redactions);
    },
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
  { ask }: RailDeskOptions,
  model: AgentModel,
  { system, user }: { readonly system: string; readonly user: string },
): Promise<string> {
  const messages = [new SystemMessage(system), new HumanMessage(user)];
  const reply = await ask(model, { messages }, "unseen");
  return reply.message.text;
}

/** Whether an agent has rails at all. */
export function areRails({ input, tool_result, output }: AgentRails): boolean {
  return input.length + tool_result.length + output.length > 0;
}

export function isEmpty(redactions: Redactions): boolean {
  return Object.keys(redactions).length === 0;
}
