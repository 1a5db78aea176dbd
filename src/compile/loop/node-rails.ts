import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { Rail, RailContext } from "../../definition/rail.ts";
import type { SchemaCheck } from "../../definition/schema/json-schema.ts";
import type { AgentRails } from "../../guardrails/create-rails.ts";
import { RedactionRegistry } from "../../guardrails/redaction-registry.ts";
import { redactKnownValues, unredact } from "../../guardrails/redaction.ts";
import { type RailResult, runRails } from "../../guardrails/run-rails.ts";
import { textsOf } from "../../guardrails/value-texts.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { RailRecord, Redactions, Redactor, UnredactOptions } from "../../state/rails.ts";
import type { NodeRails, NodeRailsOptions, RailPosition } from "./node.ts";

/** Creates the rails lazily: most nodes have none and nothing to redact. */
export function createNodeRails(options: NodeRailsOptions): NodeRails {
  const { loop, redactions, inherited } = options;
  const isNeeded = hasRails(loop.rails) || !isEmpty(redactions) || !isEmpty(inherited);
  return isNeeded ? activeNodeRails(options) : new LazyNodeRails(options);
}

class LazyNodeRails implements NodeRails {
  readonly #options: NodeRailsOptions;
  /** Created for the first record, or for the first redaction of an agent that has had rails before. */
  #made: NodeRails | null = null;

  constructor(options: NodeRailsOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#made === null;
  }

  check(...of: Parameters<NodeRails["check"]>): ReturnType<NodeRails["check"]> {
    return this.#working().check(...of);
  }

  recordFindings(...of: Parameters<NodeRails["recordFindings"]>): void {
    if (of[1].length > 0) this.#working().recordFindings(...of);
  }

  unredact<T>(value: T, options?: UnredactOptions): T {
    return this.#made === null ? value : this.#made.unredact(value, options);
  }

  redact<T>(value: T): T {
    return this.#made === null ? value : this.#made.redact(value);
  }

  redactions(): Redactions {
    return this.#made?.redactions() ?? this.#options.redactions;
  }

  addRedactions(redactions: Redactions): void {
    if (!isEmpty(redactions)) this.#working().addRedactions(redactions);
  }

  update(): ReturnType<NodeRails["update"]> {
    return this.#made?.update() ?? nothing;
  }

  #working(): NodeRails {
    return (this.#made ??= activeNodeRails(this.#options));
  }
}

const nothing: ReturnType<NodeRails["update"]> = Object.freeze({});

/** The rails of a node with values to check or redact, or findings to record. */
function activeNodeRails(options: NodeRailsOptions): NodeRails {
  const { loop, signal, inherited, suffix = "", emit } = options;
  const { clock, rails } = loop;
  const isAny = !isEmpty(inherited);
  const known = isAny ? { ...inherited, ...options.redactions } : options.redactions;
  const book = new RedactionRegistry(known, { suffix });
  const makesMarks = hasRails(rails);
  const records: RailRecord[] = [];
  const record = (result: RailResult, place: RailPosition, unchecked: readonly string[] = []) => {
    const made: RailRecord = {
      turn_number: place.turnNumber,
      attempt_number: place.attemptNumber,
      step_index: place.stepIndex,
      call_id: place.callId,
      ...(place.memoryId !== undefined && { memory_id: place.memoryId }),
      timestamp: clock.now().toISOString(),
      ...result,
      ...(unchecked.length > 0 && { unchecked }),
    };
    records.push(made);
    emit({ type: "rail", record: made }, place);
  };
  // A rail may repeat its input, and an error may contain a key.
  const clean = (reason: string) =>
    redactKnownValues(loop.secrets?.scrub(reason) ?? reason, book.redactions) as string;
  return {
    isIdle: false,
    async check(of, place) {
      const { on, value, tool, request, evidence, unchecked = [] } = of;
      const list = rails[of.rails ?? on];
      const context = (rail: Rail): RailContext => ({
        signal,
        embeddings: loop.embeddings,
        request,
        evidence,
        ask: async (ref, asked) => askModel(options, await loop.railModel(ref, rail), asked),
        resolveSecrets: async (text) => (await loop.secrets?.resolve(text)) ?? text,
      });
      // Placeholders of output rails are permanent: they are never unredacted.
      const used = on === "output" ? book.copy() : book;
      const unredacted = (redacted: unknown) => unredact(redacted, book.redactions);
      const run = { context, clock, registry: used, unredact: unredacted, clean };
      const end = await runRails(list, { on, value, tool }, run);
      if (used !== book) book.enter(permanentPlaceholders(without(used.redactions, known)));
      if (of.isRepeated === true) return end;
      for (const result of end.results) record(result, place, unchecked.map(clean));
      return end;
    },
    recordFindings(call, findings, place) {
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
    unredact<T>(value: T, { scope = "all" }: UnredactOptions = {}) {
      const all = book.redactions;
      return unredact(value, scope === "own" ? without(all, inherited) : all) as T;
    },
    redact<T>(value: T) {
      // Unchecked values may contain texts that look like placeholders.
      if (makesMarks) for (const { text } of textsOf(value).leaves) book.reserve(text);
      return redactKnownValues(value, book.redactions) as T;
    },
    redactions: () => book.redactions,
    addRedactions(redactions) {
      book.enter(redactions);
    },
    update: () => {
      const added = without(book.redactions, known);
      return {
        ...(records.length > 0 && { rails: records }),
        ...(!isEmpty(added) && { redactions: added }),
      };
    },
  };
}

/** Returns placeholders that stand for themselves: their values are never restored, and their numbers never reused. */
function permanentPlaceholders(made: Redactions): Redactions {
  return Object.fromEntries(
    Object.entries(made).map(([mark, { label }]) => [mark, { label, value: mark }]),
  );
}

function without(all: Redactions, those: Redactions): Redactions {
  if (all === those) return {};
  return Object.fromEntries(Object.entries(all).filter(([mark]) => !Object.hasOwn(those, mark)));
}

/** Returns a judge's reply, which is not streamed. */
async function askModel(
  { callModel }: NodeRailsOptions,
  model: AgentModel,
  { system, user }: { readonly system: string; readonly user: string },
): Promise<string> {
  const messages = [new SystemMessage(system), new HumanMessage(user)];
  const reply = await callModel(model, { messages }, { purpose: "rail", isUnseen: true });
  return reply.message.text;
}

/** Returns whether an agent has any rails. */
function hasRails({ input, memory, tool_result, output }: AgentRails): boolean {
  return input.length + memory.length + tool_result.length + output.length > 0;
}

function isEmpty(redactions: Redactions): boolean {
  return Object.keys(redactions).length === 0;
}

/** Returns the check on unredacted values: a schema describes the values, and a placeholder is no e-mail address. */
export function unredactedCheck<T>(
  check: SchemaCheck<T>,
  rails: Pick<Redactor, "unredact">,
): SchemaCheck<T> {
  return { ...check, check: (value) => check.check(rails.unredact(value)) };
}

/**
 * Returns the check on an agent's output. Its own placeholders are replaced by their values; those of the outer agents
 * stay.
 */
export function unredactedOutputCheck<T>(check: SchemaCheck<T>, rails: Redactor): SchemaCheck<T> {
  return {
    ...check,
    check(value) {
      const checked = check.check(rails.unredact(value, { scope: "own" }));
      if (checked.ok) return checked;
      const whole = check.check(rails.unredact(value));
      return whole.ok
        ? { ok: true, value: rails.unredact(rails.redact(whole.value), { scope: "own" }) }
        : checked;
    },
  };
}
