import { signal } from "@preact/signals";
import createClient from "openapi-fetch";
import { apiUrl } from "../links.ts";
import type { paths } from "./schema.d.ts";

const keyName = "stratagraph-api-key";

/** The API key of this tab; null without. It is kept in the session of the tab, and goes only to the page's own server. */
export const apiKey = signal<string | null>(sessionStorage.getItem(keyName));

/** Whether the server has refused requests without a key, or with this one. */
export const needsKey = signal(false);

/** Takes another key for the requests to come; null for none. */
export function setApiKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(keyName);
  else sessionStorage.setItem(keyName, key);
  apiKey.value = key;
  needsKey.value = false;
}

/** A problem document of the server (RFC 9457), or a failure to reach it. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    message: string,
    /** 0: the server was not reached. */
    readonly status: number,
    /** Stable name of the problem, such as `not_found`. */
    readonly type: string,
    /** What is wrong with the request, part by part. */
    readonly errors: readonly { readonly pointer: string; readonly detail: string }[] = [],
    /** The problem document: some problems have facts of their own in it, such as `code`. */
    readonly document: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

/** Sends a request with the key of the session. Answers with a problem are returned, not thrown. */
export async function send(input: string | Request, init?: RequestInit): Promise<Response> {
  const request = new Request(input, { ...init, credentials: "omit", redirect: "error" });
  if (apiKey.value !== null) request.headers.set("Authorization", `Bearer ${apiKey.value}`);
  const response = await fetch(request).catch((thrown: unknown) => {
    if (request.signal.aborted) throw thrown;
    throw new ApiError("The server does not answer. Is it running?", 0, "unreachable");
  });
  if (response.status === 401) needsKey.value = true;
  return response;
}

/** The client of the API, typed by its OpenAPI document. */
export const api = createClient<paths>({ baseUrl: apiUrl, fetch: (request) => send(request) });

/**
 * Returns the body of an answer.
 *
 * @throws ApiError for an answer with a problem
 */
export async function bodyOf<Body>(
  answer: Promise<{ data?: Body; error?: unknown; response: Response }>,
): Promise<Body> {
  const { data, error, response } = await answer;
  if (!response.ok) throw problemOf(response.status, error);
  return data as Body;
}

/** Makes an error of a problem document. */
export function problemOf(status: number, document: unknown): ApiError {
  const problem = Object(document) as Record<string, unknown>;
  const { type, title, detail, errors } = problem;
  const text = [detail, title].find((one) => typeof one === "string" && one !== "");
  const name = typeof type === "string" ? type.replace(/^.*[/:]/, "") : "error";
  return new ApiError(
    typeof text === "string" ? text : `The server answered with ${status}.`,
    status,
    name,
    Array.isArray(errors) ? (errors as ApiError["errors"]) : [],
    problem,
  );
}
