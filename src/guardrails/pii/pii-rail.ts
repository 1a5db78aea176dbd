import { setImmediate as macrotask } from "node:timers/promises";
import type { PiiConfig, PiiEntity } from "../../definition/guardrail-schema.ts";
import { passed, type Rail, type RailSpan, type RailSubject } from "../rail.ts";
import { searchPersonalData } from "./find-personal-data.ts";

const words: Record<PiiEntity, readonly [one: string, many: string]> = {
  EMAIL: ["e-mail address", "e-mail addresses"],
  PHONE: ["phone number", "phone numbers"],
  CARD: ["card number", "card numbers"],
  IBAN: ["bank account number", "bank account numbers"],
  SSN: ["social security number", "social security numbers"],
  IP: ["IP address", "IP addresses"],
  PASSPORT: ["passport number", "passport numbers"],
  API_KEY: ["key or password", "keys or passwords"],
};

/**
 * Finds personal data. The score is 1 where there is any: each finding was checked as far as its form allows. With
 * `tool_results` the results of tools are looked at too, whatever `on` says.
 */
export function piiRail(
  config: PiiConfig & { readonly tool_results?: boolean },
  {
    on,
    onError,
  }: { readonly on: ReadonlySet<RailSubject["on"]>; readonly onError: Rail["onError"] },
): Rail {
  return {
    name: "pii",
    on: config.tool_results === true ? new Set([...on, "tool_result"]) : on,
    onError,
    async check({ text }, { signal }) {
      const spans = await searched(text, config.entities, signal);
      if (spans.length === 0) return passed;
      return {
        verdict: config.action,
        score: 1,
        spans,
        reasons: reasonsOf(spans, config.entities),
      };
    },
  };
}

/** Shorter texts take less than some ms. */
const longestAtOnce = 20_000;

/** A long text is searched with pauses between the sorts of data, in which the turn may be cancelled and others go on. */
async function searched(
  text: string,
  entities: readonly PiiEntity[],
  signal: AbortSignal,
): Promise<readonly RailSpan[]> {
  const search = searchPersonalData(text, entities);
  let step = search.next();
  while (step.done !== true) {
    if (text.length > longestAtOnce) await macrotask();
    signal.throwIfAborted();
    step = search.next();
  }
  return step.value;
}

function reasonsOf(spans: readonly RailSpan[], entities: readonly PiiEntity[]): readonly string[] {
  return entities.flatMap((entity) => {
    const count = spans.filter(({ label }) => label === entity).length;
    const [one, many] = words[entity];
    return count === 0 ? [] : [`The text has ${count} ${count === 1 ? one : many}.`];
  });
}
