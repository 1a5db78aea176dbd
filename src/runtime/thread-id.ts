import { InvalidThreadIdError, maxThreadIdLength } from "./errors.ts";

/** @throws InvalidThreadIdError */
export function checkThreadId(threadId: string): string {
  if (threadId.length === 0) throw new InvalidThreadIdError("is empty");
  if (threadId.length > maxThreadIdLength) {
    throw new InvalidThreadIdError(`has ${threadId.length.toLocaleString("en")} characters`);
  }
  const control = /[\p{Cc}\p{Cs}\u2028\u2029]/u.exec(threadId);
  if (control !== null) {
    const code = (control[0].codePointAt(0) ?? 0).toString(16).padStart(4, "0").toUpperCase();
    throw new InvalidThreadIdError(`has the control character U+${code} at ${control.index}`);
  }
  return threadId;
}
