import type { HallucinationConfig } from "../../definition/guardrail-schema.ts";
import { passed, type Rail } from "../rail.ts";
import { claimsOf } from "./claims.ts";
import { readEvidence } from "./evidence.ts";
import { supportOf, supportOfNumber } from "./support.ts";
import { numberClaimsOf } from "./value-claims.ts";

const longestQuote = 200;
const mostReasons = 10;

/**
 * Checks that each claim of an answer is supported by what the turn's tools gave and by the request: above all its numbers,
 * dates, identifiers, quotations and names, since these are what models invent (support.ts says how it is counted). No
 * model is asked, and all takes time linear in the evidence. A claim that is wrong in words alone, such as a "not" too
 * many, is not noticed.
 *
 * Of an answer that is no text but what a schema describes, each number is a claim as well, with the names that lead to it
 * (value-claims.ts); those are not among the spans, which are of texts.
 *
 * An answer without evidence besides the request passes with the score 0: no tool was used, so that there is nothing to
 * check against, and general knowledge may be right. The score is 1 minus the support of the claim that has least.
 *
 * `retry` blocks, which makes the attempt fail; the reasons quote the claims, up to 200 characters of each, so that the next
 * attempt can read which they are.
 */
export function hallucinationRail(
  { min_support, action }: HallucinationConfig,
  { onError }: { readonly onError: Rail["onError"] },
): Rail {
  return {
    name: "hallucination",
    on: new Set(["output"] as const),
    onError,
    check({ text, value }, { evidence, request }) {
      const given = evidence.filter((one) => one.trim() !== "");
      if (given.every((one) => one.trim() === request.trim())) return passed;
      const claims = claimsOf(text);
      const numbers = numberClaimsOf(value);
      if (claims.length === 0 && numbers.length === 0) return passed;
      const read = readEvidence(given);
      const rated = [
        ...claims.map((claim) => ({
          text: claim.text,
          spans: [{ start: claim.start, end: claim.end, label: "UNSUPPORTED" }],
          support: supportOf(claim, read),
        })),
        ...numbers.map((claim) => ({
          text: claim.text,
          spans: [],
          support: supportOfNumber(claim, read),
        })),
      ];
      const score = rated.reduce((most, { support }) => Math.max(most, 1 - support), 0);
      const unsupported = rated.filter(({ support }) => support < min_support);
      if (unsupported.length === 0) return { ...passed, score };
      return {
        verdict: action === "retry" ? "block" : "flag",
        score,
        spans: unsupported.flatMap(({ spans }) => spans),
        reasons: unsupported
          .slice(0, mostReasons)
          .map((claim) => `Nothing that the tools gave supports: "${shortened(claim.text)}"`),
      };
    },
  };
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= longestQuote ? line : `${line.slice(0, longestQuote - 1)}…`;
}
