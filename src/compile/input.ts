import type { AgentDefinition } from "../definition/agent-definition.ts";
import { InvalidInputError } from "./errors.ts";

/** Maximum size of a turn's input as JSON, in UTF-8 bytes. */
export const maxInputBytes = 1_000_000;

/**
 * Refuses messages whose text alone exceeds the input limit.
 *
 * @throws InvalidInputError
 */
export function checkMessages(definition: AgentDefinition, messages: readonly unknown[]): void {
  for (const message of messages) {
    const { content } = (message ?? {}) as { content?: unknown };
    const text = typeof message === "string" ? message : content;
    if (typeof text !== "string") continue;
    const bytes = Buffer.byteLength(text);
    if (bytes > maxInputBytes) {
      throw new InvalidInputError(definition.spec.name, [
        `a message has ${bytes.toLocaleString("en")} bytes, the limit is ${maxInputBytes.toLocaleString("en")}`,
      ]);
    }
  }
}

/**
 * Returns the input with its schema's defaults.
 *
 * @throws InvalidInputError
 */
export function checkInput<Input>(
  definition: AgentDefinition<Input, never, never, never> | AgentDefinition,
  input: unknown,
): Input {
  const refuse = (...issues: string[]) => new InvalidInputError(definition.spec.name, issues);
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(input) ?? "null");
  } catch (cause) {
    throw refuse(`it cannot be written as JSON (${cause instanceof Error ? cause.message : ""})`);
  }
  if (bytes > maxInputBytes) {
    throw refuse(
      `it has ${bytes.toLocaleString("en")} bytes of JSON, the limit is ${maxInputBytes.toLocaleString("en")}`,
    );
  }
  const checked = definition.input.check(input);
  if (!checked.ok) throw refuse(...checked.issues);
  return checked.value as Input;
}
