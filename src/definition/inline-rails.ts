import { nearestName } from "../nearest-name.ts";
import { isRecord } from "../state/is-record.ts";
import { showFound, type DefinitionProblem } from "./problems.ts";
import { railName } from "./rail.ts";
import { valueAt } from "./value-at.ts";

/** What is wrong with the `rails` of a TypeScript definition. One that no entry names would never be asked. */
export function inlineRailProblems(written: unknown, rails: unknown): readonly DefinitionProblem[] {
  if (!Array.isArray(rails)) {
    return [{ path: ["rails"], message: "expected a list of rails", found: showFound(rails) }];
  }
  const named = customRailNames(written);
  const first = new Map<string, number>();
  return (rails as readonly unknown[]).flatMap((rail, index): DefinitionProblem[] => {
    const path = ["rails", index];
    if (!isRail(rail)) {
      return [{ path, message: "expected a rail of defineRail", found: showFound(rail) }];
    }
    const { name } = rail;
    const earlier = first.get(name);
    if (earlier !== undefined) {
      return [{ path, message: `"${name}" is already the name of rails[${earlier}]` }];
    }
    first.set(name, index);
    if (named.includes(name)) return [];
    const message = `no entry { type: custom, name: ${name} } of guardrail_config names it`;
    return [{ path, message, allowed: named, suggestion: nearestName(name, named) }];
  });
}

function isRail(value: unknown): value is { readonly name: string } {
  if (!isRecord(value)) return false;
  const { name, on, check } = value;
  return (
    typeof name === "string" &&
    railName.test(name) &&
    on instanceof Set &&
    typeof check === "function"
  );
}

function customRailNames(written: unknown): readonly string[] {
  return ["input_rails", "output_rails"].flatMap((side) => {
    const rails = valueAt(written, ["guardrail_config", side]);
    return (Array.isArray(rails) ? rails : []).flatMap((rail: unknown) => {
      const name = valueAt(rail, ["name"]);
      return valueAt(rail, ["type"]) === "custom" && typeof name === "string" ? [name] : [];
    });
  });
}
