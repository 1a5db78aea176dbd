/** Texts below this are not worth writing in another way. */
const leastCharacters = 200;

/** What `JSON.parse` would change: digits past the precision of numbers, exponents, zeros at the end. */
const inexactNumber = /[:[,\s]-?(?:\d{16,}|\d+\.\d*0(?=[,\]}\s])|\d+(?:\.\d+)?[eE]|\d+\.\d{12,})/;

/**
 * The value of a text that is the JSON of an object or a list, so that it can be written shorter; undefined for other
 * texts, and where writing it in another way could lose something.
 */
export function jsonText(text: string): object | undefined {
  if (text.length < leastCharacters) return undefined;
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") return undefined;
  if (inexactNumber.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
