import type { RailSpan } from "../rail.ts";

/** A name that says its value is secret, and the value: `api_key = "…"`, `"clientSecret": "…"`, `API key is …`. */
const assignment =
  /(?<![\p{L}\p{N}])(?:[A-Za-z0-9]{1,30}[_-]){0,4}(api[ _-]?key|api[ _-]?token|secret(?:[ _-]?(?:access)?[ _-]?key)?|access[ _-]?key|access[ _-]?token|auth[ _-]?token|refresh[ _-]?token|client[ _-]?secret|private[ _-]?key|token|passw(?:or)?d|pwd|passwort|kennwort)["']?[\p{Zs}\t]{0,4}(?::=|=>|[:=]|\b(?:is|ist|lautet)\b)[\p{Zs}\t]{0,4}["'`]?([^\s"'`,;<>(){}[\]]{8,})/giu;
/** With a small letter `token` and `basic` are words of any text, but in the header. */
const bearer =
  /(?<!\w)(?:Bearer|BEARER|bearer|Basic|Token|(?<=[Aa]uthorization["']?[ \t]{0,4}[:=][ \t]{0,4}["'`]?)(?:basic|token))[ \t]{1,4}([A-Za-z0-9._~+/-]{16,}={0,2})(?![\w=])/g;

/** Bits a character: English words have some 3 at these lengths, random base64 and hex 3.5 and more. */
const leastEntropy = 3;
const leastLength = { key: 16, password: 8 };

/** Values that are called secret, or sent as such, and are as mixed as a secret is. */
export function findNamedSecrets(text: string): readonly RailSpan[] {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(assignment)) {
    const [whole, name = "", written = ""] = match;
    const value = written.replace(/[.!?:]+$/, "");
    const least = /^(?:p(?!rivate)|kennwort)/i.test(name) ? leastLength.password : leastLength.key;
    if (!isSecretLike(value, least)) continue;
    const start = match.index + whole.length - written.length;
    found.push({ start, end: start + value.length, label: "API_KEY" });
  }
  for (const match of text.matchAll(bearer)) {
    const [whole, written = ""] = match;
    const value = written.replace(/\.+$/, "");
    if (!isSecretLike(value, leastLength.key)) continue;
    const start = match.index + whole.length - written.length;
    found.push({ start, end: start + value.length, label: "API_KEY" });
  }
  return found;
}

/** References (`process.env.KEY`, `$KEY`), examples (`your-api-key`) and words are no secrets. */
function isSecretLike(value: string, least: number): boolean {
  if (value.length < least || !/\d/.test(value) || !/[a-z]/i.test(value)) return false;
  if (/^(?:[$%]|process\.|os\.|env\.|https?:)|(?:your|example|placeholder|xxxx)/i.test(value))
    return false;
  return least < leastLength.key || entropy(value) >= leastEntropy;
}

/** Shannon's, in bits a character. */
function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => {
    const share = count / value.length;
    return sum - share * Math.log2(share);
  }, 0);
}
