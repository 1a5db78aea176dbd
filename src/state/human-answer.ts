import { errorMessage } from "../errors.ts";
import { toJson } from "../values/bounded-json.ts";
import { isRecord } from "../values/json.ts";
import {
  type Decision,
  type DecisionForms,
  expectedForms,
  isDecisionRecord,
  problem,
  type Read,
  readDecision,
  shown,
  takesCertainValues,
  valueSchemaOf,
  wordDecision,
} from "./answer-schema.ts";
import {
  hashCall,
  hashRequest,
  type HumanRequest,
  type ProposedCall,
  proposedCalls,
} from "./human-request.ts";
import { zodFromJsonSchema } from "./zod-from-json-schema.ts";

/** A person's answer as it was interpreted. Input, and an edit without a decision word, count as a decision to edit. */
export type HumanAnswer =
  | { readonly ok: true; readonly on: "value"; readonly decision: Decision }
  /** `decisions` has an entry for every pending call. */
  | { readonly ok: true; readonly on: "calls"; readonly decisions: CallDecisions }
  /** The payload of the event that a wait is for. */
  | { readonly ok: true; readonly on: "event"; readonly payload: unknown }
  /** Results of some or all of the calls that the caller makes. */
  | { readonly ok: true; readonly on: "results"; readonly results: readonly CallResult[] };

/** What the caller returned for a call of a client tool. Plain JSON. */
export type CallResult = { readonly call_id: string } & (
  | { readonly output: unknown }
  /** Why the call broke. */
  | { readonly error: string }
);

/** The parts of a request that determine how its answer is read. */
type AnsweredRequest = Pick<HumanRequest, "kind" | "proposed" | "schema"> &
  Partial<Pick<HumanRequest, "prompt" | "event">>;

/**
 * Reads a person's answer. `problem` says what was expected and what came; it can be shown to the person, who is asked
 * again. Never throws.
 */
export function checkHumanAnswer(
  request: AnsweredRequest,
  answer: unknown,
): HumanAnswer | Extract<Read<unknown>, { readonly ok: false }> {
  if (request.kind === "tool_approval") {
    const read = readCallAnswer(proposedCalls(request.proposed), answer);
    return read.ok ? { ok: true, on: "calls", decisions: read.value } : read;
  }
  if (request.kind === "tool_calls") {
    const results = readToolResults(proposedCalls(request.proposed), answer);
    return results.ok ? { ok: true, on: "results", results: results.value } : results;
  }
  if (request.kind === "wait") {
    const payload = readPayload(request, answer);
    return payload.ok ? { ok: true, on: "event", payload: payload.value } : payload;
  }
  const read = readValueAnswer(request, answer);
  return read.ok ? { ok: true, on: "value", decision: read.value } : read;
}

/** UTF-8 bytes of the JSON of an event's payload. */
export const maxPayloadBytes = 65_536;

/** Reads the payload of an event. A bound one names its event. */
function readPayload(
  { event, schema }: Pick<AnsweredRequest, "event" | "schema">,
  answer: unknown,
): Read<unknown> {
  if (event === undefined) return problem("The run waits for a time, and takes no answer.");
  const payload = isBoundEvent(answer, event) ? answer.payload : answer;
  const copy = toJson(payload ?? null, maxPayloadBytes);
  if (!copy.whole) {
    const most = maxPayloadBytes.toLocaleString("en");
    return problem(`Expected a payload of at most ${most} bytes of JSON; got more.`);
  }
  return checkBySchema(schema, copy.value);
}

/** A payload as the node gets it, which tells it from the answer to another request. */
interface BoundEvent {
  readonly event: string;
  readonly payload: unknown;
}

function isBoundEvent(answer: unknown, event: string): answer is BoundEvent {
  if (!isRecord(answer) || answer["event"] !== event) return false;
  return Object.hasOwn(answer, "payload") && Object.keys(answer).length === 2;
}

function readValueAnswer(request: AnsweredRequest, answer: unknown): Read<Decision> {
  const { kind } = request;
  const forms: DecisionForms = {
    approves: kind !== "input",
    edits: kind === "input" ? ["answer", "edit"] : ["edit"],
    key: "value",
    ...(kind !== "input" && { hash: () => hashRequest(request) }),
    check: (value) => checkValue(request, value),
  };
  const isText = isNewText(request, answer) && forms.check(answer).ok;
  const decided = isText ? null : readDecision(answer, forms);
  if (decided !== null) return decided;
  const takesBare = kind !== "approval" && answer !== undefined && !isDecisionRecord(answer);
  const checked = takesBare ? forms.check(answer) : null;
  if (checked?.ok === true) return { ok: true, value: { decision: "edit", value: checked.value } };
  if (checked !== null && kind === "input") return checked;
  const others = kind === "approval" ? [] : ["the new value itself"];
  const why = checked === null ? "" : ` ${checked.problem}`;
  return problem(`Expected ${expectedForms(forms, others)}; got ${shown(answer)}.${why}`);
}

/**
 * Returns whether a decision word may be the new text: a text is proposed, or the schema restricts values. The
 * documented "approve" and "reject" are always decisions.
 */
function isNewText(
  request: Pick<HumanRequest, "kind" | "proposed" | "schema">,
  answer: unknown,
): boolean {
  if (request.kind !== "edit" || answer === wordDecision(answer)) return false;
  if (typeof answer !== "string") return false;
  return typeof request.proposed === "string" || takesCertainValues(request);
}

function checkValue(request: Pick<HumanRequest, "schema">, value: unknown): Read<unknown> {
  const schema = valueSchemaOf(request);
  return schema === null ? { ok: true, value } : checkBySchema(schema, value);
}

function checkBySchema(schema: HumanRequest["schema"], value: unknown): Read<unknown> {
  try {
    const parsed = zodFromJsonSchema(schema).safeParse(value);
    if (parsed.success) return { ok: true, value: parsed.data };
    const issues = parsed.error.issues.map(({ path, message }) => {
      return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
    });
    return problem(`The value does not fit its schema: ${issues.join("; ")}; got ${shown(value)}.`);
  } catch (thrown) {
    // A recursive schema walks as deep as the value.
    return problem(`The value cannot be checked: ${errorMessage(thrown)}.`);
  }
}

/** A person's decision on every pending call, by id. */
export type CallDecisions = ReadonlyMap<string, Decision>;

type Calls = readonly (Pick<ProposedCall, "id"> & {
  readonly name: unknown;
  readonly args: unknown;
})[];

/**
 * Reads one decision for all calls, or one for each: by id in `decisions`, or in a list. A decision with a hash applies
 * to the call with that hash; a single decision for all names the hash of the request.
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

/** The decision syntax for a single call. */
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
    return problem(`Expected no other key than "decisions"; got "${other}".`);
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

/** UTF-8 bytes of the JSON of all results in one answer. Each tool limits its own further. */
const maxResultsBytes = 16 * 1024 * 1024;

const resultForm = "{ call_id, output } or { call_id, error }";

/**
 * Reads the results of some or all calls of client tools: a list of them, or `{ tool_results }`. They are copied to plain
 * JSON.
 */
export function readToolResults(
  calls: readonly Pick<ProposedCall, "id">[],
  answer: unknown,
): Read<readonly CallResult[]> {
  const given = isRecord(answer) ? answer["tool_results"] : answer;
  if (!Array.isArray(given) || given.length === 0) {
    return problem(`Expected a list of ${resultForm}; got ${shown(answer)}.`);
  }
  const copy = toJson(given, maxResultsBytes);
  if (!copy.whole) {
    const most = maxResultsBytes.toLocaleString("en");
    return problem(`Expected results of at most ${most} bytes in all; got more.`);
  }
  const results: CallResult[] = [];
  for (const one of copy.value as readonly unknown[]) {
    const { call_id: id, request_id: _request, ...end } = isRecord(one) ? one : {};
    const [key, ...others] = Object.keys(end);
    const isEnd = key === "output" || (key === "error" && typeof end["error"] === "string");
    if (typeof id !== "string" || !isEnd || others.length > 0) {
      return problem(`Expected ${resultForm}, with an error that is a text; got ${shown(one)}.`);
    }
    if (!calls.some((call) => call.id === id)) {
      const waiting = calls.map((call) => call.id).join(", ");
      return problem(`No call ${shown(id)} waits for a result. Calls that wait: ${waiting}.`);
    }
    if (results.some(({ call_id }) => call_id === id)) {
      return problem(`Expected one result for each call; got two for ${shown(id)}.`);
    }
    results.push({ call_id: id, ...end } as CallResult);
  }
  return { ok: true, value: results };
}

/**
 * Returns an answer as a record that names the hash of the request. Unreadable answers, and those that approve nothing,
 * stay as they are. Pass the request that the answer is for.
 */
export function bindAnswer(request: AnsweredRequest, answer: unknown): unknown {
  if (request.kind === "tool_calls") {
    const results = readToolResults(proposedCalls(request.proposed), answer);
    return results.ok ? { tool_results: results.value } : answer;
  }
  if (request.kind === "wait") {
    const read = checkHumanAnswer(request, answer);
    return read.ok && read.on === "event"
      ? ({ event: request.event ?? "", payload: read.payload } satisfies BoundEvent)
      : answer;
  }
  const hash = hashRequest(request);
  const read = hash === null ? null : checkHumanAnswer(request, answer);
  if (read?.ok !== true) return answer;
  if (read.on === "value") {
    // The value is passed on unchecked: its node applies the schema.
    const value = isDecisionRecord(answer) ? answer["value"] : answer;
    return recordOf(read.decision, { hash, value });
  }
  if (read.on === "results" || read.on === "event") return answer;
  const decisions = proposedCalls(request.proposed).map((call) => {
    const decision = read.decisions.get(call.id) ?? { decision: "reject", reason: "" };
    const args = decision.decision === "edit" ? decision.value : undefined;
    return [call.id, recordOf(decision, { hash: hashCall(call), args })];
  });
  return { decisions: Object.fromEntries(decisions) as Record<string, unknown> };
}

/** Returns whether every decision of an answer names a hash. */
export function isBound(answer: unknown): boolean {
  if (Array.isArray(answer)) return answer.every(isBound);
  if (!isRecord(answer)) return false;
  const { decisions, hash } = answer;
  return isRecord(decisions) ? Object.values(decisions).every(isBound) : typeof hash === "string";
}

function recordOf(
  { decision, ...said }: Decision,
  { hash, ...edited }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  switch (decision) {
    case "approve":
      return { decision, hash };
    case "edit":
      return { decision, ...edited, hash };
    case "reject":
      return { decision, ...said, hash };
  }
}
