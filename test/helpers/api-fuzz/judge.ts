import type { AnswerCheck } from "../api-server.ts";
import { type Knowledge, markersIn } from "./knowledge.ts";
import type { FuzzRequest } from "./requests.ts";
import type { FuzzAnswer } from "./send.ts";

/** What an answer must not do. `leak`: reads or writes across tenants. */
export type FailureKind = "leak" | "access" | "error" | "hang" | "document";

export interface Failure {
  readonly kind: FailureKind;
  readonly reason: string;
}

/** Returns what is wrong with an answer. It is judged before anything is learned from it. */
export function judge(
  request: FuzzRequest,
  answer: FuzzAnswer,
  { knowledge, check }: { readonly knowledge: Knowledge; readonly check: AnswerCheck },
): readonly Failure[] {
  const { status, text } = answer;
  const failures: Failure[] = [];
  const fail = (kind: FailureKind, reason: string) => failures.push({ kind, reason });
  // A caller may ask for a short wait.
  const isAsked = /timeout/.test(request.body?.toString() ?? "");
  if (status === 504 && !isAsked) fail("hang", "the server gave up on its answer (504)");
  else if (status >= 500 && status !== 504 && !isServiceRoute(request))
    fail("error", `status ${status}`);
  for (const reason of crossings(request, answer, knowledge)) fail("leak", reason);
  if (status < 300 && !mayCall(request)) fail("access", `status ${status} without the scopes`);
  // A path with dots names another route than its pattern says.
  const isPlain = !/\/(?:\.|%2e)/i.test(request.path) && !request.path.includes("//");
  if (!isPlain || request.method === "HEAD" || answer.isStream) return failures;
  let json: Record<string, unknown> = {};
  try {
    const isJson = /json/.test(answer.headers.get("content-type") ?? "");
    if (isJson) json = JSON.parse(text) as Record<string, unknown>;
  } catch {
    fail("document", "the answer is not valid JSON");
  }
  const wrong = check(request.method, request.path, { ...answer, json });
  if (wrong.length > 0) fail("document", JSON.stringify(wrong).slice(0, 1000));
  return failures;
}

/** Readiness says 503 while a check fails. */
function isServiceRoute({ path }: FuzzRequest): boolean {
  return path.startsWith("/readyz");
}

function mayCall({ operation, scopes, method }: FuzzRequest): boolean {
  if (operation.isPublic || method === "OPTIONS") return true;
  if (method !== operation.method.toUpperCase()) return scopes.length > 0;
  return scopes.includes("*") || operation.scopes.every((scope) => scopes.includes(scope));
}

/** Names in a path that PUT writes are the client's to choose, and so are threads that a run creates. */
function isOfAnyId({ operation, method, body }: FuzzRequest): boolean {
  const creates = body?.includes('"if_not_exists":"create"') === true;
  return operation.method === "put" || method === "OPTIONS" || creates;
}

/** A stream of a thread may begin before the thread: it has comments until then, for the id of anyone. */
function isWithoutEvents(text: string): boolean {
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  return lines.length > 0 && lines.every((line) => line.startsWith(":"));
}

/** Event streaming refuses commands with status 200, for a thread of another tenant as for one that does not exist. */
function isRefusedCommand({ operation }: FuzzRequest, text: string): boolean {
  return operation.path.endsWith("/commands") && text.startsWith('{"type":"error",');
}

/** Returns what of other tenants is in the answer, or was reached by the path. */
function crossings(
  request: FuzzRequest,
  { status, text, headers }: FuzzAnswer,
  knowledge: Knowledge,
): string[] {
  const { tenant, operation, sent } = request;
  const isSuccess = status < 300;
  const shown = [text, ...[...headers].map(([name, value]) => `${name}: ${value}`)].join("\n");
  const markers = markersIn(shown)
    .filter((found) => found.tenant !== tenant)
    // A search by another's text may find nothing; a problem may say what was searched.
    .filter(({ marker }) => !sent.toLowerCase().includes(marker.toLowerCase()));
  const texts = markers.map(({ marker }) => `the answer has the text ${marker}`);
  if (tenant === null) return texts;
  const ids = knowledge
    .foreignIn(tenant, shown)
    .filter((id) => !sent.includes(id))
    .map((id) => `the answer has the id ${id} of tenant ${knowledge.ownerOf(id) ?? ""}`);
  if (!isSuccess || operation.isPublic) return [...texts, ...ids];
  const path = Object.values(request.params).join("\n");
  const reached =
    isOfAnyId(request) || isWithoutEvents(text) || isRefusedCommand(request, text)
      ? []
      : knowledge.foreignIn(tenant, path).map((id) => {
          return `status ${status} for the id ${id} of tenant ${knowledge.ownerOf(id) ?? ""} in the path`;
        });
  return [...texts, ...ids, ...reached];
}
