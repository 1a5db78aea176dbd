import type { CelType } from "@bufbuild/cel";
import type { ValueType } from "./value-type.ts";

export const anyType: ValueType = { kind: "any" };
export const boolType: ValueType = { kind: "bool" };
export const stringType: ValueType = { kind: "string" };
export const doubleType: ValueType = { kind: "double" };
export const intType: ValueType = { kind: "int" };

/** What kinds of values CEL tells apart here: JSON has one kind of number and one of map. */
type Family = "any" | "string" | "number" | "bool" | "null" | "list" | "map";

export function familyOf(type: ValueType): Family {
  if (type.kind === "int" || type.kind === "double") return "number";
  return type.kind === "object" ? "map" : type.kind;
}

/** Whether a value of that type may be of one of the families. */
export function mayBe(type: ValueType, ...families: readonly Family[]): boolean {
  const family = familyOf(type);
  return family === "any" || families.includes(family) || families.includes("any");
}

const familyNames: Readonly<Record<Family, string>> = {
  any: "any value",
  string: "a string",
  number: "a number",
  bool: "true or false",
  null: "null",
  list: "a list",
  map: "a map",
};

/** For messages: `a string`, `true or false`. */
export function nameOf(type: ValueType): string {
  return familyNames[familyOf(type)];
}

/** The type both are, or `any`. */
export function unite(one: ValueType, other: ValueType): ValueType {
  if (one.kind === other.kind && one.kind !== "object" && one.kind !== "list" && one.kind !== "map")
    return one;
  if (one.kind === "list" && other.kind === "list")
    return { kind: "list", of: unite(one.of, other.of) };
  if (familyOf(one) === "number" && familyOf(other) === "number") return doubleType;
  return one === other ? one : anyType;
}

/** Bytes, times, durations and types, which JSON has not, are `any` here. */
export function typeOfCel(type: CelType): ValueType {
  switch (type.kind) {
    case "list":
      return { kind: "list", of: typeOfCel(type.element) };
    case "map":
      return { kind: "map", of: typeOfCel(type.value) };
    case "scalar":
      return scalarTypes[type.scalar] ?? anyType;
    default:
      return anyType;
  }
}

const scalarTypes: Readonly<Record<string, ValueType>> = {
  string: stringType,
  int: intType,
  uint: intType,
  double: doubleType,
  bool: boolType,
  null_type: { kind: "null" },
};

/** Whether an argument of the type may be passed where CEL expects `parameter`; numbers are converted. */
export function fits(type: ValueType, parameter: CelType): boolean {
  if (type.kind === "any" || (parameter.kind === "scalar" && parameter.scalar === "dyn"))
    return true;
  return familyOf(typeOfCel(parameter)) === familyOf(type);
}
