import type { RailSpan } from "../rail.ts";
import type { Finder } from "./finder.ts";
import { keyForms } from "./key-forms.ts";
import { findNamedSecrets } from "./named-secrets.ts";

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
