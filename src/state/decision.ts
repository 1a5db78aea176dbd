import { headOf } from "./cut-text.ts";
import { isRecord } from "./is-record.ts";

/** What a person decided. `value` of an edit is the new value, or the new arguments of a tool call. */
export type Decision =
  | { readonly decision: "approve" }
  | { readonly decision: "edit"; readonly value: unknown }
  | { readonly decision: "reject"; readonly reason: string };

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly problem: string;
      /** Set where the answer names the hash of something else than what waits. */
      readonly mismatch?: true;
    };

/** Which decisions there are, and how they are written. */
export interface DecisionForms {
  /** Whether there is something to approve; then `true`, `false` and the bare words decide as well. */
  readonly approves: boolean;
  /** The words that bring something new; empty where nothing can be changed. */
  readonly edits: readonly string[];
  /** Under which key an edit brings it. */
  readonly key: "value" | "args";
  /** The hash of what is decided on, which a decision may name; left out where there is none. */
  readonly hash?: () => string | null;
  /** What is new as it is to be used, or why it cannot be. */
  check(value: unknown): Read<unknown>;
}

/** Whether an answer is to be read as a decision, and never as a value of its own. */
export function isDecisionRecord(answer: unknown): answer is Record<string, unknown> {
  return isRecord(answer) && Object.hasOwn(answer, "decision");
}

/** The words that decide, in any case; the first of each is the documented one. */
const decisionWords = {
  approve: ["approve", "yes", "y"],
  reject: ["reject", "no", "n"],
} as const;

/** What a bare word decides, in any case; null for other answers. */
export function wordDecision(answer: unknown): "approve" | "reject" | null {
  if (typeof answer !== "string") return null;
  const word = answer.toLowerCase();
  if (decisionWords.approve.some((one) => one === word)) return "approve";
  return decisionWords.reject.some((one) => one === word) ? "reject" : null;
}

/** JSON Schema of the answers that decide without a record. */
export const bareDecisionSchema: Readonly<Record<string, unknown>> = {
  anyOf: [{ type: "boolean" }, { type: "string", pattern: `^(?:${anyCase(decisionWords)})$` }],
};

/** Reads `true`, `"yes"`, `{ decision: "reject", reason }` and their like; null when the answer is none of them. */
export function readDecision(answer: unknown, forms: DecisionForms): Read<Decision> | null {
  if (forms.approves) {
    const word =
      typeof answer === "boolean" ? (answer ? "approve" : "reject") : wordDecision(answer);
    if (word !== null) return word === "approve" ? approved : rejected("");
  }
  return isDecisionRecord(answer) ? readRecord(answer, forms) : null;
}

function readRecord(answer: Record<string, unknown>, forms: DecisionForms): Read<Decision> {
  const { decision } = answer;
  const words = [...(forms.approves ? ["approve"] : []), ...forms.edits, "reject"];
  if (typeof decision !== "string" || !words.includes(decision)) {
    return problem(`Expected the decision ${anyOf(words)}; got ${shown(decision)}.`);
  }
  const isEdit = forms.edits.includes(decision);
  const takes = isEdit ? forms.key : decision === "reject" ? "reason" : null;
  const known = ["decision", takes, ...(forms.hash === undefined ? [] : ["hash"])];
  const other = Object.keys(answer).find((key) => !known.includes(key));
  if (other !== undefined) {
    const allowed = takes === null ? "nothing else" : `"${takes}" alone`;
    return problem(`Beside the decision "${decision}" there may be ${allowed}; got "${other}".`);
  }
  const hash = answer["hash"] === undefined ? null : (forms.hash?.() ?? null);
  if (hash !== null && answer["hash"] !== hash) {
    const text = `The answer is for something else than what waits: expected the hash ${hash}, got ${shown(answer["hash"])}.`;
    return { ...problem(text), mismatch: true };
  }
  if (decision === "approve") return approved;
  if (isEdit) return readEdit(decision, answer, forms);
  const { reason = "" } = answer;
  if (typeof reason === "string") return rejected(reason);
  return problem(`Expected a text as the reason; got ${shown(reason)}.`);
}

function readEdit(
  word: string,
  answer: Record<string, unknown>,
  forms: DecisionForms,
): Read<Decision> {
  const { key } = forms;
  if (answer[key] === undefined) {
    return problem(`Expected { decision: "${word}", ${key} }; got no ${key}.`);
  }
  const checked = forms.check(answer[key]);
  return checked.ok ? { ok: true, value: { decision: "edit", value: checked.value } } : checked;
}

/** The forms that an answer may have, for messages; `others` beside those of a decision. */
export function expectedForms(forms: DecisionForms, others: readonly string[] = []): string {
  const [edit] = forms.edits;
  return anyOf([
    ...(forms.approves ? ['true or "approve"', 'false or "reject"'] : []),
    ...others,
    '{ decision: "reject", reason }',
    ...(edit === undefined ? [] : [`{ decision: "${edit}", ${forms.key} }`]),
  ]);
}

export function problem(text: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: text };
}

/** What came, short enough for a message. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length > 80 ? `${headOf(json, 80)}…` : json;
}

function anyOf(words: readonly string[]): string {
  const last = words.at(-1) ?? "nothing";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

const approved: Read<Decision> = { ok: true, value: { decision: "approve" } };

function rejected(reason: string): Read<Decision> {
  return { ok: true, value: { decision: "reject", reason } };
}

/** A pattern of words in any case, since those of JSON Schemas have no flags. */
function anyCase(words: Readonly<Record<string, readonly string[]>>): string {
  const letters = (word: string) =>
    word.replaceAll(/[a-z]/g, (one) => `[${one}${one.toUpperCase()}]`);
  return Object.values(words).flat().map(letters).join("|");
}
