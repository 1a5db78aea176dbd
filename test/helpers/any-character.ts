import fc from "fast-check";

const firstSurrogate = 0xd800;
const surrogates = 0x800;
const codePoints = 0x110000 - surrogates;

/**
 * Any Unicode character, as the unit of `fc.string`. fast-check's own unit `binary` makes a table of all of them, which
 * takes 85 MB until the process ends.
 */
export const anyCharacter = fc.nat({ max: codePoints - 1 }).map(
  (at) => String.fromCodePoint(at < firstSurrogate ? at : at + surrogates),
  // Lets fast-check put in strings that are known to break programs, `__proto__` among them.
  (character) => {
    const point = typeof character === "string" ? character.codePointAt(0) : undefined;
    if (point === undefined || String.fromCodePoint(point) !== character)
      throw new Error("It is not one character.");
    if (point < firstSurrogate) return point;
    if (point < firstSurrogate + surrogates) throw new Error("It is half of a character.");
    return point - surrogates;
  },
);
