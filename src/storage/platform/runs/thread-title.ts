import { headOf } from "../../../values/text.ts";
import { isRecord } from "../../../values/json.ts";
import {
  MissingEncryptionKeyError,
  SealedValueError,
  type ValueCipher,
} from "../../encryption/value-cipher.ts";

/** Characters of a title. */
const maxCharacters = 80;
/** Characters of a message that are read for its title. */
const readCharacters = 2_000;
/** Characters of control, of direction and without width. Joiners stay: emoji consist of them. */
const hidden = /[\p{Cc}\p{Surrogate}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/**
 * Returns the title that a thread gets from the request of its first run: one line of the first message of a person. Null
 * where there is none.
 */
export function titleOfRequest(request: object): string | null {
  const { input } = request as { input?: unknown };
  const message = firstMessage(input);
  if (message === null) return null;
  const line = headOf(message, readCharacters)
    .replace(/\s+/gu, " ")
    .replace(hidden, "")
    .replace(/ +/g, " ")
    .trim();
  if (line.length > maxCharacters) return `${headOf(line, maxCharacters - 1).trimEnd()}…`;
  return line === "" ? null : line;
}

/** Returns the title in a stored column; null for one that cannot be opened: its thread is listed without it. */
export function openTitle(values: ValueCipher, stored: unknown): string | null {
  try {
    const title = values.openJson(stored);
    return typeof title === "string" ? title : null;
  } catch (thrown) {
    if (thrown instanceof MissingEncryptionKeyError || thrown instanceof SealedValueError)
      return null;
    throw thrown;
  }
}

/**
 * A condition on an `agent_definition d`: whether it has no rails on inputs. Titles are made before rails run, so that
 * other agents give none.
 */
export const hasNoInputRails = `coalesce(d.definition #>> '{guardrail_config,input_rails}', '[]') = '[]'`;

/** The message of `{ message }`, of `{ messages }` or of `{ input }` with one of them. */
function firstMessage(input: unknown): string | null {
  if (typeof input === "string") return input;
  if (!isRecord(input)) return null;
  const { message, messages } = input;
  if (typeof message === "string") return message;
  if (!Array.isArray(messages))
    return isRecord(input["input"]) ? firstMessage(input["input"]) : null;
  const found = messages.find((one) => isHuman(one)) as unknown;
  return isRecord(found) ? textOf(found["content"]) : textOf(found);
}

function isHuman(message: unknown): boolean {
  if (typeof message === "string") return true;
  return isRecord(message) && (message["role"] === "user" || message["type"] === "human");
}

/** The text of a message, or the first text of its parts. */
function textOf(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  const part = content.find((one) => isRecord(one) && typeof one["text"] === "string") as unknown;
  return isRecord(part) ? (part["text"] as string) : null;
}
