import type { Subtask, TaskPlan } from "../state/plan.ts";
import { isRecord } from "../values/json.ts";
import { headOf } from "../values/text.ts";

/** Maximum characters of each text in a plan. */
const maxTextLength = 20_000;

const idForm = /^[A-Za-z0-9_.-]{1,64}$/;

export interface PlanReading {
  /** Everything that could be read; unreadable texts are "" or left out. Valid if there are no problems. */
  readonly plan: TaskPlan;
  readonly problems: readonly PlanProblem[];
}

export interface PlanRoom {
  /** Maximum number of subtasks over all plans of the task. */
  readonly maxSubtasks: number;
  /** Number of subtasks in earlier plans. */
  readonly before: number;
}

/**
 * Reads a plan from an untrusted value and copies it. Tolerates what models write: numbers as ids, null or "" for
 * absent values, and unknown keys. A plan with too many subtasks is not read.
 */
export function readPlan(value: unknown, room: PlanRoom): PlanReading {
  const reader = new PlanReader();
  try {
    return { plan: reader.plan(value, room), problems: reader.problems };
  } catch {
    // A getter or a proxy threw: everything read before is discarded.
    const message = "plan: expected plain JSON, got something that cannot be read";
    return { plan: noPlan, problems: [{ kind: "shape", ids: [], message }] };
  }
}

const noPlan: TaskPlan = { subtasks: [], success_criteria: "" };

class PlanReader {
  readonly problems: PlanProblem[] = [];

  plan(value: unknown, { maxSubtasks, before }: PlanRoom): TaskPlan {
    if (!isRecord(value)) {
      this.#expected("plan", "an object", value);
      return noPlan;
    }
    const { subtasks, success_criteria: criteria } = value;
    if (!Array.isArray(subtasks)) {
      this.#expected("subtasks", "an array", subtasks);
      return noPlan;
    }
    const found = subtasks.length;
    if (found === 0) {
      this.#report("empty", "subtasks: expected at least one subtask, got none");
      return noPlan;
    }
    if (found + before > maxSubtasks) {
      const most = `at most ${maxSubtasks.toLocaleString("en")}`;
      const earlier = before === 0 ? "" : ` with the ${before.toLocaleString("en")} planned before`;
      const message = `subtasks: expected ${most}${earlier}, got ${found.toLocaleString("en")}`;
      this.#report("too_many", message);
      return noPlan;
    }
    return {
      subtasks: Array.from(subtasks as unknown[], (one, at) =>
        this.#subtask(one, `subtasks[${at}]`),
      ),
      success_criteria: this.#optionalText(criteria, "success_criteria", []) ?? "",
    };
  }

  #subtask(value: unknown, path: string): Subtask {
    if (!isRecord(value)) {
      this.#expected(path, "an object", value);
      return { id: "", description: "", dependencies: [] };
    }
    const { id: givenId, description, dependencies, worker: givenWorker, expected_output } = value;
    const id = this.#id(givenId, `${path}.id`);
    const ids = idForm.test(id) ? [id] : [];
    const worker = this.#optionalText(givenWorker, `${path}.worker`, ids);
    const output = this.#optionalText(expected_output, `${path}.expected_output`, ids);
    return {
      id,
      description: this.#description(description, `${path}.description`, ids),
      dependencies: this.#dependencies(dependencies, `${path}.dependencies`, ids),
      ...(worker === undefined ? {} : { worker }),
      ...(output === undefined ? {} : { expected_output: output }),
    };
  }

  #id(value: unknown, path: string): string {
    const id = nameOf(value);
    if (id === undefined || !idForm.test(id)) {
      this.#expected(path, '1 to 64 letters, digits, "_", "." and "-"', value);
    } else if (id in Object.prototype) {
      this.#report("shape", `${path}: expected another id than "${id}", which every object has`);
    }
    return id ?? "";
  }

  #description(value: unknown, path: string, ids: readonly string[]): string {
    if (typeof value !== "string") this.#expected(path, "a string", value, ids);
    else if (this.#isTooLong(value, path, ids)) return "";
    else if (value.trim() === "") this.#expected(path, "a description of the work", value, ids);
    else return value;
    return "";
  }

  #dependencies(value: unknown, path: string, ids: readonly string[]): readonly string[] {
    if (value == null) return [];
    if (!Array.isArray(value)) {
      this.#expected(path, "an array of ids", value, ids);
      return [];
    }
    const names = new Set<string>();
    let at = 0;
    for (const one of value as unknown[]) {
      const name = nameOf(one);
      if (name === undefined || name === "") this.#expected(`${path}[${at}]`, "an id", one, ids);
      else names.add(name);
      at += 1;
    }
    return [...names];
  }

  /** Returns undefined for null and for blank text too. */
  #optionalText(value: unknown, path: string, ids: readonly string[]): string | undefined {
    if (value == null) return undefined;
    if (typeof value !== "string") this.#expected(path, "a string", value, ids);
    else if (!this.#isTooLong(value, path, ids) && value.trim() !== "") return value;
    return undefined;
  }

  #isTooLong({ length }: string, path: string, ids: readonly string[]): boolean {
    if (length <= maxTextLength) return false;
    const most = `at most ${maxTextLength.toLocaleString("en")} characters`;
    this.#report("shape", `${path}: expected ${most}, got ${length.toLocaleString("en")}`, ids);
    return true;
  }

  #expected(path: string, expected: string, got: unknown, ids: readonly string[] = []): void {
    this.#report("shape", `${path}: expected ${expected}, got ${quoteValue(got)}`, ids);
  }

  #report(kind: PlanProblemKind, message: string, ids: readonly string[] = []): void {
    this.problems.push({ kind, ids, message });
  }
}

function nameOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" && Number.isFinite(value) ? String(value) : undefined;
}

type PlanProblemKind =
  | "shape"
  | "empty"
  | "too_many"
  | "duplicate_id"
  | "unknown_dependency"
  | "self_dependency"
  | "unfinished_dependency"
  | "cycle"
  | "unknown_worker";

/** One problem of a plan. */
export interface PlanProblem {
  readonly kind: PlanProblemKind;
  /**
   * The affected subtasks. For a dependency that is not done, both; for a cycle all its members, each before its
   * dependency, with the first repeated at the end.
   */
  readonly ids: readonly string[];
  /** For people and models: what was expected, what came, what to do. */
  readonly message: string;
}

const maxQuoted = 80;

/** Describes an unexpected value in a few words, without walking into it. */
export function quoteValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null || typeof value === "number" || typeof value === "boolean")
    return String(value);
  if (typeof value === "string") {
    return JSON.stringify(value.length > maxQuoted ? `${headOf(value, maxQuoted)}…` : value);
  }
  if (typeof value === "object") return Array.isArray(value) ? "an array" : "an object";
  return `a ${typeof value}`;
}
