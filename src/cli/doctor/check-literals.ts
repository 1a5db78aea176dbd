import { formatPath } from "../../definition/problems.ts";
import { replaceSecrets } from "../../definition/secret-reference.ts";
import { findKeys } from "../../guardrails/pii/find-keys.ts";
import { warning, type AgentCheck } from "./finding.ts";
import { secretTexts, type SecretText } from "./secret-texts.ts";

/** Secrets that stand in a definition themselves. They are not shown. */
export const checkLiterals: AgentCheck = ({ spec }) =>
  secretTexts(spec)
    .filter(looksSecret)
    .map(({ path }) =>
      warning(
        { check: "secret", subject: formatPath(path) },
        "It looks like a secret, and whoever reads the definition reads it.",
        "Keep it in the environment, and write {{secret:NAME}} in its place.",
      ),
    );

/** The last word of a name whose value is secret. */
const secretName =
  /(?:^|[_-])(?:token|secret|password|passwd|pwd|credential|cookie|authorization|auth|(?:api|access|private)[_-]?key)$/i;
/** What goes before a secret in a header, what is no secret by its form, and what stands for one elsewhere. */
const noSecret = /^(?:bearer|basic|token|true|false|none|\d*|\.{0,2}\/.*|\$\{?\w+\}?|https?:.*)$/i;
const leastLength = 8;

function looksSecret({ name, text }: SecretText): boolean {
  const literal = replaceSecrets(text, () => "").trim();
  if (findKeys(literal).length > 0 || findKeys(`${name}: ${literal}`).length > 0) return true;
  const words = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2");
  return secretName.test(words) && literal.length >= leastLength && !noSecret.test(literal);
}
