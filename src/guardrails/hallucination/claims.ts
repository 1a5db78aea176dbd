import { sentencesOf } from "../injection/windows.ts";

/** A statement of an answer that can be right or wrong. */
export interface Claim {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const courtesy =
  /^(?:hi|hello|hey|dear|thanks?|thank you|you're welcome|welcome|sure|certainly|of course|great|sorry|i(?:'m| am) sorry|i apologi[sz]e|unfortunately,? i (?:can|could|do)|glad|happy|good (?:morning|afternoon|evening|day)|best|kind regards|regards|hallo|guten|danke|vielen dank|gern|natürlich|entschuldigung|viele grüße)\b/iu;
const offer =
  /\b(?:let me know|feel free|would you like|do you want|shall i|should i|can i help|i can (?:also )?(?:help|look|check|search|assist)|i could (?:also )?|if you (?:need|want|like|have|would)|anything else|please (?:provide|tell|confirm|specify|share|note)|could you|lassen sie mich|möchten sie|soll ich|falls sie|wenn sie|bitte (?:geben|nennen|bestätigen))\b/iu;
const hedge =
  /\b(?:i (?:don't|do not|cannot|can't|could not|couldn't|am not|was not able|wasn't able) (?:know|have|find|sure|see|to)?|not (?:sure|certain)|i (?:think|guess|believe|assume)|no information|perhaps|maybe|ich weiß nicht|ich konnte|vielleicht|vermutlich)\b/iu;

/**
 * Sentences, entries of lists and lines of an answer that state something. Questions, headings, greetings, offers and
 * hedges state nothing, unless a number stands in them.
 */
export function claimsOf(answer: string): Claim[] {
  return sentencesOf(answer).flatMap(({ start, end }) => {
    const raw = answer.slice(start, end);
    const marker =
      /^(?:[-*+•]\s+|\d{1,3}[.)](?:\s+|$)|#{1,6}\s+|>\s+|\|\s*)+/u.exec(raw)?.[0] ?? "";
    const text = raw.slice(marker.length);
    return isClaim(text, marker) ? [{ text, start: start + marker.length, end }] : [];
  });
}

function isClaim(text: string, marker: string): boolean {
  const plain = text.replace(/[*_`~]+/g, "").trim();
  const words = plain.match(/\p{L}+/gu)?.length ?? 0;
  if (plain === "" || /\?["'”’)]*$/.test(plain)) return false;
  if (/\d/.test(plain)) return true;
  if (marker.includes("#") || plain.endsWith(":") || words < 2) return false;
  return !courtesy.test(plain) && !offer.test(plain) && !hedge.test(plain);
}
