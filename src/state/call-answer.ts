import { hashCall, hashRequest } from "./approval-hash.ts";
import {
  expectedForms,
  problem,
  readDecision,
  shown,
  type Decision,
  type DecisionForms,
  type Read,
} from "./decision.ts";
import type { ProposedCall } from "./human-request.ts";
import { isRecord } from "./is-record.ts";

/** What a person decided on every call that waits, by its id. */
export type CallDecisions = ReadonlyMap<string, Decision>;

type Calls = readonly (Pick<ProposedCall, "id"> & {
  readonly name: unknown;
  readonly args: unknown;
})[];

/**
 * Reads one decision for all calls, or one for each: by id in `decisions`, or in a list. A decision that names a hash is
 * for the call that has it, and one for all names that of the request.
 */
export function readCallAnswer(calls: Calls, answer: unknown): Read<CallDecisions> {
  const ids = calls.map(({ id }) => id);
  if (Array.isArray(answer)) return readList(calls, answer);
  if (isRecord(answer) && Object.hasOwn(answer, "decisions")) return readById(calls, answer);
  if (ids.length > 1 && isRecord(answer) && answer["decision"] === "edit") {
    return problem(
      `{ decision: "edit", args } is for one call, and ${ids.length} wait: give { decisions: { [id]: … } } with every id of ${ids.join(", ")}.`,
    );
  }
  const forms: DecisionForms = {
    ...callForms,
    ...(ids.length > 1 && { edits: [] }),
    hash: () => hashRequest({ kind: "tool_approval", proposed: calls }),
  };
  const read = readDecision(answer, forms);
  if (read === null) {
    const others = ["{ decisions: { [id]: decision } }", "[{ id, decision }]"];
    return problem(`Expected ${expectedForms(forms, others)}; got ${shown(answer)}.`);
  }
  return read.ok ? { ok: true, value: new Map(ids.map((id) => [id, read.value])) } : read;
}

/** How one call is decided on. */
const callForms: DecisionForms = {
  approves: true,
  edits: ["edit"],
  key: "args",
  check: (args) =>
    isRecord(args)
      ? { ok: true, value: args }
      : problem(`Expected an object of arguments; got ${shown(args)}.`),
};

function readById(calls: Calls, answer: Record<string, unknown>): Read<CallDecisions> {
  const { decisions, ...rest } = answer;
  const [other] = Object.keys(rest);
  if (other !== undefined)
    return problem(`Beside "decisions" there may be nothing; got "${other}".`);
  if (!isRecord(decisions)) {
    return problem(`Expected decisions by the id of the call; got ${shown(decisions)}.`);
  }
  return readEach(calls, Object.entries(decisions));
}

function readList(calls: Calls, list: readonly unknown[]): Read<CallDecisions> {
  const entries: [string, unknown][] = [];
  for (const item of list) {
    const { id, ...decision } = isRecord(item) ? item : {};
    if (typeof id !== "string") {
      return problem(`Expected { id, decision } in the list; got ${shown(item)}.`);
    }
    if (!Object.hasOwn(decision, "decision")) {
      return problem(`Expected a decision for call "${id}"; got ${shown(item)}.`);
    }
    if (entries.some(([known]) => known === id)) {
      return problem(`Expected one decision for every call; got two for "${id}".`);
    }
    entries.push([id, decision]);
  }
  return readEach(calls, entries);
}

function readEach(
  calls: Calls,
  entries: readonly (readonly [string, unknown])[],
): Read<CallDecisions> {
  const ids = calls.map(({ id }) => id);
  const unknown = entries.find(([id]) => !ids.includes(id));
  if (unknown !== undefined) {
    return problem(`No call "${unknown[0]}" waits. Calls that wait: ${ids.join(", ")}.`);
  }
  const given = new Map(entries);
  const missing = ids.filter((id) => !given.has(id));
  if (missing.length > 0) {
    return problem(`Expected a decision for every call; got none for ${missing.join(", ")}.`);
  }
  const decisions = new Map<string, Decision>();
  for (const call of calls) {
    const { id } = call;
    const read = readDecision(given.get(id), { ...callForms, hash: () => hashCall(call) });
    if (read === null) {
      const forms = expectedForms(callForms);
      return problem(`Call "${id}": expected ${forms}; got ${shown(given.get(id))}.`);
    }
    if (!read.ok) return { ...read, problem: `Call "${id}": ${read.problem}` };
    decisions.set(id, read.value);
  }
  return { ok: true, value: decisions };
}
