import { z } from "zod";
import type { Page } from "../storage/platform/checks.ts";
import type { Answer } from "./route.ts";

/** A whole number in the query, with its bounds in the document. */
export function integerParameter(of: {
  readonly from: number;
  readonly to: number;
  readonly default: number;
  readonly description: string;
}) {
  const { from, to, description } = of;
  const isInRange = (text: string) =>
    /^\d{1,9}$/.test(text) && Number(text) >= from && Number(text) <= to;
  return z
    .string()
    .refine(isInRange, `expected a whole number from ${from} to ${to}`)
    .transform(Number)
    .meta({ type: "integer", minimum: from, maximum: to, default: of.default, description })
    .default(of.default);
}

/** A whole number from 0 in the query, which may be left out. */
export function optionalInteger(description: string) {
  return z
    .string()
    .regex(/^\d{1,9}$/, "expected a whole number from 0")
    .transform(Number)
    .meta({ type: "integer", minimum: 0, maximum: 999_999_999, description })
    .optional();
}

/** Returns the schema of a parameter's text without control characters. */
export function textUpTo(characters: number) {
  return z
    .string()
    .min(1)
    .max(characters)
    .refine(
      (text) => !/\p{Cc}|\p{Surrogate}/u.test(text),
      "expected text without control characters",
    );
}

export const parameterText = textUpTo(200);

/** The query parameters of a list. */
export const pageQuery = {
  limit: integerParameter({ from: 1, to: 200, default: 50, description: "Entries of a page." }),
  cursor: parameterText.describe("`next_cursor` of the page before.").optional(),
};

/** The schema of a page of a list. */
export function pageSchema(name: string, item: z.ZodType) {
  return z.strictObject({
    [name]: z.array(item),
    next_cursor: z.string().nullable().describe("Cursor of the next page; null at the end."),
  });
}

/** Answers with a page, and a Link header to the next one. */
export function pageAnswer<Item>(
  request: Request,
  page: Page<Item>,
  of: {
    readonly name: string;
    readonly item: (item: Item) => unknown;
    /** Further members of the answer. */
    readonly more?: object;
  },
): Answer {
  const body = { [of.name]: page.items.map(of.item), next_cursor: page.next, ...of.more };
  if (page.next === null) return { status: 200, body };
  const { pathname, searchParams } = new URL(request.url);
  searchParams.set("cursor", page.next);
  // A path: the host is the client's to know, and headers of proxies may be wrong about it.
  return {
    status: 200,
    body,
    headers: { Link: `<${pathname}?${searchParams.toString()}>; rel="next"` },
  };
}

/** The parts of a list that its store takes. */
export function pageRequest({ limit, cursor }: { limit: number; cursor?: string | undefined }) {
  return { limit, ...(cursor !== undefined && { cursor }) };
}
