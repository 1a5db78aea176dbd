import { ToolFailure } from "../tool-result.ts";

/** Whole numbers are exact, whatever their size; all others are IEEE doubles. */
export type Quantity = bigint | number;

/** Bits up to which whole numbers stay exact; larger results are doubles. */
const maxExactBits = 4_096;

const maxExact = 1n << BigInt(maxExactBits);

export function add(left: Quantity, right: Quantity): Quantity {
  if (typeof left === "bigint" && typeof right === "bigint") return exact(left + right);
  return real(Number(left) + Number(right));
}

export function subtract(left: Quantity, right: Quantity): Quantity {
  if (typeof left === "bigint" && typeof right === "bigint") return exact(left - right);
  return real(Number(left) - Number(right));
}

export function multiply(left: Quantity, right: Quantity): Quantity {
  if (typeof left === "bigint" && typeof right === "bigint") return exact(left * right);
  return real(Number(left) * Number(right));
}

export function divide(left: Quantity, right: Quantity): Quantity {
  if (Number(right) === 0) throw new ToolFailure("Division by zero.");
  if (typeof left === "bigint" && typeof right === "bigint" && left % right === 0n) {
    return left / right;
  }
  return real(Number(left) / Number(right));
}

/** The remainder with the sign of `left`, as `%` in JavaScript. */
export function remainder(left: Quantity, right: Quantity): Quantity {
  if (Number(right) === 0) throw new ToolFailure("Division by zero: a remainder of division by 0.");
  if (typeof left === "bigint" && typeof right === "bigint") return left % right;
  return real(Number(left) % Number(right));
}

export function power(base: Quantity, exponent: Quantity): Quantity {
  if (Number(base) === 0 && Number(exponent) < 0) {
    throw new ToolFailure("Division by zero: 0 to a negative power.");
  }
  if (typeof base === "bigint" && typeof exponent === "bigint" && exponent >= 0n) {
    if (base === 0n || base === 1n) return exponent === 0n ? 1n : base;
    if (base === -1n) return exponent % 2n === 0n ? 1n : -1n;
    const bits = BigInt(base.toString(2).length);
    if (exponent * bits <= BigInt(maxExactBits)) return exact(base ** exponent);
  }
  return real(Number(base) ** Number(exponent));
}

export function negate(quantity: Quantity): Quantity {
  return -quantity;
}

/** @throws ToolFailure for what is no real number or not finite. */
export function real(value: number): number {
  if (Number.isNaN(value)) throw new ToolFailure("The result is not a real number.");
  if (!Number.isFinite(value)) {
    throw new ToolFailure("The result is not finite: numbers go up to about 1.8e308.");
  }
  return value;
}

function exact(value: bigint): Quantity {
  return value < maxExact && value > -maxExact ? value : real(Number(value));
}

/**
 * A quantity as JSON: whole numbers as numbers as long as those are exact, else as a string of digits; others to 15
 * significant digits, so that 0.1 + 0.2 is 0.3.
 */
export function toResult(quantity: Quantity): number | string {
  if (typeof quantity === "bigint") {
    const number = Number(quantity);
    return Number.isSafeInteger(number) ? number : quantity.toString();
  }
  const rounded = Number(quantity.toPrecision(15));
  return rounded === 0 ? 0 : rounded;
}

/** A function of the calculator. It takes from `min` to `max` arguments. */
export interface CalculatorFunction {
  readonly min: number;
  readonly max: number;
  apply(args: readonly Quantity[]): Quantity;
}

export const constants: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["π", Math.PI],
  ["tau", 2 * Math.PI],
  ["e", Math.E],
]);

/** Arguments that one call of `min` or `max` takes. */
const many = 1_000;

/** A function over doubles. */
function over(apply: (x: number, y: number) => number, min = 1, max = min): CalculatorFunction {
  return { min, max, apply: (args) => real(apply(Number(args[0]), Number(args[1]))) };
}

/** A function that rounds: whole numbers stay as they are, and what it gives is exact where it can be. */
function rounding(apply: (x: number) => number): CalculatorFunction {
  return { min: 1, max: 1, apply: ([x = 0n]) => (typeof x === "bigint" ? x : whole(apply(x))) };
}

function whole(value: number): Quantity {
  return Number.isSafeInteger(value) ? BigInt(value) : real(value);
}

/** Halves go away from zero, as people round. */
function roundHalfAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function round(value: Quantity, digits: number): Quantity {
  if (typeof value === "bigint" && digits >= 0) return value;
  if (digits === 0) return whole(roundHalfAway(Number(value)));
  if (!Number.isInteger(digits) || Math.abs(digits) > 100) return real(Number.NaN);
  const shifted = shiftDigits(Number(value), digits);
  return Number.isFinite(shifted) ? real(shiftDigits(roundHalfAway(shifted), -digits)) : value;
}

/** `value` × 10^`digits` by its decimal digits, which multiplying would not keep: 1.005 to two digits is 1.01. */
function shiftDigits(value: number, digits: number): number {
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  return Number(`${mantissa}e${Number(exponent) + digits}`);
}

function squareRoot(value: Quantity): Quantity {
  const root = real(Math.sqrt(Number(value)));
  if (typeof value === "bigint" && Number.isSafeInteger(root)) {
    const candidate = BigInt(root);
    if (candidate * candidate === value) return candidate;
  }
  return root;
}

function pick(better: (a: Quantity, b: Quantity) => boolean): CalculatorFunction {
  const apply = (args: readonly Quantity[]) => args.reduce((a, b) => (better(b, a) ? b : a));
  return { min: 1, max: many, apply };
}

function logarithm(value: number, base: number): number {
  if (base === 10 || Number.isNaN(base)) return Math.log10(value);
  return base === 2 ? Math.log2(value) : Math.log(value) / Math.log(base);
}

export const functions: ReadonlyMap<string, CalculatorFunction> = new Map([
  ["sqrt", { min: 1, max: 1, apply: ([x = 0n]) => squareRoot(x) }],
  ["cbrt", over(Math.cbrt)],
  ["abs", { min: 1, max: 1, apply: ([x = 0n]) => (x < 0 ? -x : x) }],
  ["sign", over(Math.sign)],
  ["round", { min: 1, max: 2, apply: ([x = 0n, digits = 0n]) => round(x, Number(digits)) }],
  ["floor", rounding(Math.floor)],
  ["ceil", rounding(Math.ceil)],
  ["trunc", rounding(Math.trunc)],
  ["min", pick((a, b) => a < b)],
  ["max", pick((a, b) => a > b)],
  ["mod", { min: 2, max: 2, apply: ([x = 0n, y = 0n]) => remainder(x, y) }],
  ["pow", { min: 2, max: 2, apply: ([x = 0n, y = 0n]) => power(x, y) }],
  ["exp", over(Math.exp)],
  ["ln", over(Math.log)],
  ["log", over(logarithm, 1, 2)],
  ["log2", over(Math.log2)],
  ["log10", over(Math.log10)],
  ["sin", over(Math.sin)],
  ["cos", over(Math.cos)],
  ["tan", over(Math.tan)],
  ["asin", over(Math.asin)],
  ["acos", over(Math.acos)],
  ["atan", over(Math.atan)],
  ["atan2", over(Math.atan2, 2)],
  ["hypot", over(Math.hypot, 2)],
] satisfies [string, CalculatorFunction][]);
