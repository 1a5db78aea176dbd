import type { RailSpan } from "../../definition/rail.ts";
import type { Finder } from "./finder.ts";

const pemBegin = /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const pemEnd = /-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;

/** `postgres://user:password@host`: RFC 3986, 3.2.1. */
const urlPassword =
  /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@?#"'<>]{0,128}:([^\s/@?#"'<>]{1,256})@/gi;

/** Keys, tokens and passwords: by the forms of their makers, in URLs, private keys in PEM, and values that are called so. */
export const findKeys: Finder = (text) => [
  ...findForms(text),
  ...findPrivateKeys(text),
  ...findUrlPasswords(text),
  ...findNamedSecrets(text),
];

function findForms(text: string): readonly RailSpan[] {
  return keyForms.flatMap((form) =>
    [...text.matchAll(form)]
      .filter(([key]) => /\d|[A-Z]/.test(key))
      .map(({ 0: key, index }) => ({ start: index, end: index + key.length, label: "API_KEY" })),
  );
}

/** One that is cut off goes to the end of the text. */
function findPrivateKeys(text: string): readonly RailSpan[] {
  const ends = [...text.matchAll(pemEnd)].map(({ 0: line, index }) => index + line.length);
  const found: RailSpan[] = [];
  let next = 0;
  let last = 0;
  for (const { index: start } of text.matchAll(pemBegin)) {
    if (start < last) continue;
    while (next < ends.length && (ends[next] ?? 0) <= start) next += 1;
    last = ends[next] ?? text.length;
    found.push({ start, end: last, label: "API_KEY" });
  }
  return found;
}

function findUrlPasswords(text: string): readonly RailSpan[] {
  return [...text.matchAll(urlPassword)].flatMap(({ 0: whole, 1: password = "", index }) => {
    const start = index + whole.length - password.length - 1;
    const isReference = /^(?:\$|<|\{|%[A-Z])/.test(password);
    return isReference ? [] : [{ start, end: start + password.length, label: "API_KEY" }];
  });
}

/**
 * Forms of keys and tokens that their makers publish. Each begins where a word begins and its characters end with the
 * word, so that no part of a text is gone over twice.
 */
const keyForms: readonly RegExp[] = [
  // OpenAI, Anthropic and those who took over their form.
  /(?<![\w-])sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?[A-Za-z0-9_-]{20,}(?![\w-])/g,
  // AWS access keys: "Unique ID prefixes" in the IAM user guide.
  /(?<!\w)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?!\w)/g,
  // GitHub, GitLab, npm, PyPI, Hugging Face.
  /(?<!\w)gh[pousr]_[A-Za-z0-9]{36,255}(?!\w)/g,
  /(?<!\w)github_pat_[A-Za-z0-9_]{22,255}(?!\w)/g,
  /(?<![\w-])glpat-[\w-]{20,}(?![\w-])/g,
  /(?<!\w)npm_[A-Za-z0-9]{36}(?!\w)/g,
  /(?<![\w-])pypi-[\w-]{50,}(?![\w-])/g,
  /(?<!\w)hf_[A-Za-z0-9]{30,}(?!\w)/g,
  // Slack.
  /(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10,}(?![\w-])/g,
  /(?<![\w-])xapp-\d-[A-Za-z0-9-]{10,}(?![\w-])/g,
  // Google, Groq, Stripe, SendGrid, Twilio.
  /(?<![\w-])AIza[\w-]{35}(?![\w-])/g,
  /(?<![\w-])ya29\.[\w-]{20,}(?![\w-])/g,
  /(?<!\w)gsk_[A-Za-z0-9]{40,}(?!\w)/g,
  /(?<!\w)(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}(?!\w)/g,
  /(?<!\w)whsec_[A-Za-z0-9+/]{24,}(?!\w)/g,
  /(?<![\w.-])SG\.[\w-]{16,}\.[\w-]{16,}(?![\w-])/g,
  // JSON Web Tokens: RFC 7519; both parts are objects, so that both begin with {" in base64.
  /(?<![\w.-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?/g,
];

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
function findNamedSecrets(text: string): readonly RailSpan[] {
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
