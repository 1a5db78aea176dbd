import { ToolFailure } from "../../tool-failure.ts";

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
