import type { SchemaCheck } from "../../definition/json-schema.ts";
import type { Marks } from "./marks.ts";

/** The check with the values that marks stand for: a schema describes these, and a mark is no e-mail address. */
export function revealing<T>(check: SchemaCheck<T>, rails: Pick<Marks, "reveal">): SchemaCheck<T> {
  return { ...check, check: (value) => check.check(rails.reveal(value)) };
}

/**
 * The same for what leaves the agent, whose value it gives: own marks have given way to what they stand for, those of
 * the agents around are still there.
 */
export function revealingOwn<T>(check: SchemaCheck<T>, rails: Marks): SchemaCheck<T> {
  return {
    ...check,
    check(value) {
      const checked = check.check(rails.reveal(value, "own"));
      if (checked.ok) return checked;
      const whole = check.check(rails.reveal(value));
      return whole.ok ? { ok: true, value: rails.reveal(rails.hide(whole.value), "own") } : checked;
    },
  };
}
