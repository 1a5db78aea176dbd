import { headOf } from "../../state/cut-text.ts";
import { isRecord } from "../../state/is-record.ts";
import { BadHeaderError, TooLargeError } from "./guarded-fetch.ts";

/** What a request over HTTP came to, where it came to no answer. */
export interface HttpFailure {
  /** One clause, without a full stop. It may hold secrets. */
  readonly problem: string;
  readonly status: number | null;
  /** The connection, and not the answer, is what failed. */
  readonly isLost: boolean;
  /** The server has surely not got the request. */
  readonly isUnsent: boolean;
  /** The server no longer knows the session. */
  readonly isSessionLost: boolean;
}

/** Codes of Node and its `fetch` after which nothing was sent. */
const unsent = new Map([
  ["ECONNREFUSED", "nothing listens at its address (ECONNREFUSED)"],
  ["ENOTFOUND", "its host is not known (ENOTFOUND)"],
  ["EAI_AGAIN", "the name of its host cannot be looked up (EAI_AGAIN)"],
  ["EHOSTUNREACH", "its host cannot be reached (EHOSTUNREACH)"],
  ["ENETUNREACH", "its network cannot be reached (ENETUNREACH)"],
  ["UND_ERR_CONNECT_TIMEOUT", "its host did not answer in time (UND_ERR_CONNECT_TIMEOUT)"],
]);

/** Undefined for what is no failure of HTTP. */
export function httpFailure(thrown: unknown): HttpFailure | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const none = { status: null, isLost: false, isUnsent: false, isSessionLost: false };
  if (thrown instanceof BadHeaderError) return { ...none, problem: thrown.message };
  if (thrown instanceof TooLargeError) return { ...none, problem: thrown.message };
  const status = statusOf(thrown);
  if (status !== null) {
    const text = headOf(thrown.message.replace(/^.*?(?:endpoint|stream)[^:]*:\s*/s, ""), 300);
    // The protocol asks for 404; servers in the wild answer 400 as well.
    const isSessionLost = status === 404 || (status === 400 && /session/i.test(thrown.message));
    return { ...none, status, isSessionLost, problem: `HTTP ${status}${said(status, text)}` };
  }
  const code = causeCode(thrown);
  const reason = code === undefined ? undefined : unsent.get(code);
  if (reason !== undefined) return { ...none, problem: reason, isLost: true, isUnsent: true };
  const isNetwork =
    code !== undefined ||
    (thrown instanceof TypeError && /fetch failed|terminated/.test(thrown.message));
  if (!isNetwork) return undefined;
  const problem = `the connection broke off (${code ?? thrown.message})`;
  return { ...none, problem, isLost: true };
}

function said(status: number, text: string): string {
  const hints = new Map([
    [401, "; check the credentials in its headers"],
    [403, "; check the credentials in its headers"],
    [405, "; check its endpoint, and whether its transport is http or sse"],
  ]);
  return `${text.trim() === "" ? "" : ` (${text.trim()})`}${hints.get(status) ?? ""}`;
}

/** The SDK has the status as `code` for streamable HTTP and for opening SSE, and in the text for requests of SSE. */
function statusOf(thrown: Error): number | null {
  const { code } = thrown as { code?: unknown };
  const isHttp = /^(?:Streamable HTTP|SSE) error/.test(thrown.message);
  if (isHttp && typeof code === "number" && code >= 100) return code;
  const found = /\(HTTP (\d{3})\)/.exec(thrown.message)?.[1];
  return found === undefined ? null : Number(found);
}

/** `fetch` hides what happened in causes; a host with several addresses fails with several errors. */
function causeCode(thrown: unknown, depth = 0): string | undefined {
  if (!isRecord(thrown) || depth > 5) return undefined;
  const { code, cause, errors } = thrown;
  if (typeof code === "string") return code;
  const inner = cause ?? (Array.isArray(errors) ? (errors as unknown[])[0] : undefined);
  return (
    causeCode(inner, depth + 1) ??
    /\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EPIPE)\b/.exec(String(thrown["message"]))?.[1]
  );
}
