import { isIPv4, isIPv6 } from "node:net";
import type { RailSpan } from "../../definition/rail.ts";
import { after, before, type Finder, validators } from "./finder.ts";

/** RFC 5321, 4.5.3.1: octets of the part before the `@`, and of a domain. */
const longest = { local: 64, domain: 255 };

const localPart = /[\p{L}\p{N}._%+&'-]+$/u;
const domainPart = /^[\p{L}\p{N}.-]+/u;
/** `logo@2x.png`: what follows the last dot is a file's ending and no domain. */
const fileEnding = /\.(?:png|jpe?g|gif|svg|webp|avif|css|jsx?|tsx?|json|html?|pdf|txt)$/i;
/** A password, or the user of a URL: the one is a secret's finder's, the other no mailbox. */
const userOfUrl = /:\/\/[^\s/@]*$/;

/** E-mail addresses. `git@host:path`, files such as `logo@2x.png` and users in URLs are none. */
export const findEmails: Finder = (text) => {
  const found: RailSpan[] = [];
  let end = 0;
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    const span = emailAround(text, at);
    if (span === undefined || span.start < end) continue;
    found.push(span);
    end = span.end;
  }
  return found;
};

function emailAround(text: string, at: number): RailSpan | undefined {
  const domain = domainPart.exec(after(text, at + 1, longest.domain))?.[0].replace(/[.-]+$/, "");
  if (domain === undefined || !domain.includes(".") || fileEnding.test(domain)) return undefined;
  const local = localPart
    .exec(before(text, at, longest.local + 1))?.[0]
    .replace(/^[^\p{L}\p{N}_]+/u, "");
  if (local === undefined || local === "" || local.length > longest.local) return undefined;
  const start = at - local.length;
  const end = at + 1 + domain.length;
  if (local === "git" && text[end] === ":") return undefined;
  if (userOfUrl.test(before(text, start, longest.domain))) return undefined;
  if (!validators().isEmail(`${local}@${domain}`)) return undefined;
  return { start, end, label: "EMAIL" };
}

const dotted =
  /(?<![\p{L}\p{N}_.-]|[.,]\p{N})\d{1,3}(?:\.\d{1,3}){3}(?![\p{L}\p{N}_]|[.-][\p{L}\p{N}])/gu;
const colons = /(?<![\p{L}\p{N}_.:])[0-9a-f:]{3,39}(?:(?:\.\d{1,3}){3})?(?![\p{L}\p{N}_:])/giu;

const addressBefore =
  /(?:\b(?:ips?|ipv[46]|address(?:es)?|host|server|client|gateway|router|proxy|dns|ping|from|ssh|subnet|range)\b[^\d\n]{0,16}|:\/\/|@)$/i;
const addressAfter = /^(?::\d{2,5}\b|\/\d{1,2}\b)/;
const versionBefore =
  /(?:\b(?:v|ver|version|release|build|firmware|driver|update|patch|section|chapter|clause|paragraph|article|figure|table|rule|step|rev|revision)s?\.?[ :=#]{0,3}|[v@+/^~])$/i;

/** Addresses that identify no person. */
const ofNoOne = new Set(["0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1"]);

/**
 * IP addresses of both sorts. Four numbers of one digit each are a version (`1.2.3.4`), as are those that are called one,
 * unless they are called an address.
 */
export const findIps: Finder = (text) => [...findV6(text), ...findV4(text)];

function findV4(text: string): readonly RailSpan[] {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(dotted)) {
    const [address] = match;
    const start = match.index;
    const end = start + address.length;
    if (!isIPv4(address) || ofNoOne.has(address) || address.startsWith("255.255.")) continue;
    const isNamed =
      addressBefore.test(before(text, start, 40)) || addressAfter.test(after(text, end, 8));
    const isVersion =
      versionBefore.test(before(text, start, 20)) || /^(?:\d\.){3}\d$/.test(address);
    if (isNamed || !isVersion) found.push({ start, end, label: "IP" });
  }
  return found;
}

function findV6(text: string): readonly RailSpan[] {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(colons)) {
    const address = match[0].replace(/(?<=[0-9a-f]):$/i, "");
    if (!isIPv6(address) || ofNoOne.has(address) || isOtherwise(address)) continue;
    found.push({ start: match.index, end: match.index + address.length, label: "IP" });
  }
  return found;
}

/** Names such as `Ab::C1`, hardware addresses and fingerprints: short ones have to begin as addresses that are in use do. */
function isOtherwise(address: string): boolean {
  const groups = address.split(":").filter((group) => group !== "");
  if (!/\d/.test(address) || groups.length < 2) return true;
  if (groups.length === 8 && groups.every((group) => group.length === 2)) return true;
  const isMapped = address.includes(".");
  return (
    groups.length < 4 && !isMapped && !/^(?:[23][0-9a-f]{3}|f[c-f][0-9a-f]{2}):/i.test(address)
  );
}
