import type { RailSpan } from "../rail.ts";
import type { Finder } from "./finder.ts";
import { validators } from "./libraries.ts";
import { after, before } from "./surroundings.ts";

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
