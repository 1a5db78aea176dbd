import { z } from "zod";
import { isRecord } from "../../values/json.ts";
import { toolSettings } from "./servers.ts";

/** Calls come out of the run, and the caller returns their results. */
const clientTransportSchema = z
  .strictObject({ type: z.literal("client") })
  .describe("The caller of the run makes the calls and returns their results.");

const template = z.string();

/** One HTTP request, as data. An MCP server's transport is another thing: see `serverSchema`. */
const httpTransportSchema = z.strictObject({
  type: z.literal("http"),
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]).default("GET"),
  endpoint: template
    .min(1)
    .max(4_096)
    .describe(
      "http or https URL; {name} in its path or query stands for an input, percent-encoded.",
    ),
  query: z
    .record(z.string(), template)
    .describe(
      "Query parameters. Default for GET and DELETE: the inputs that are used nowhere else.",
    )
    .optional(),
  headers: z
    .record(z.string(), template)
    .describe("{{secret:NAME}} stands for a secret, {name} for an input.")
    .default({}),
  body: z
    .json()
    .describe(
      "JSON whose texts may have {name}. Default for POST, PUT and PATCH: the inputs that are used nowhere else.",
    )
    .optional(),
  response: z
    .strictObject({
      type: z.enum(["json", "text"]).default("json"),
      select: z
        .string()
        .min(1)
        .max(4_000)
        .describe("JMESPath: the part of a JSON answer that is the result.")
        .optional(),
    })
    .prefault({}),
});

/** A tool without code: its description, and how its calls are made. */
export const dataToolSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, _ and -"),
  display_name: z.string().min(1).max(128).describe("For people.").optional(),
  description: z
    .string()
    .regex(/\S/, "expected a description, by which the model chooses tools")
    .describe("Tells the model when to call the tool."),
  input_schema: z
    .record(z.string(), z.unknown())
    .describe("A JSON Schema of type object. Default: no arguments.")
    .default(() => ({ type: "object", properties: {}, additionalProperties: false })),
  output_schema: z
    .record(z.string(), z.unknown())
    .describe("A JSON Schema that results have to fit.")
    .optional(),
  transport: z.discriminatedUnion("type", [clientTransportSchema, httpTransportSchema]),
  version: z.string().describe("Semantic version. Default: 1.0.0.").optional(),
  ...toolSettings,
});
type DataToolSpec = z.output<typeof dataToolSchema>;
export type DataToolSpecInput = z.input<typeof dataToolSchema>;

/** A tool as data that needs no caller. */
export const httpToolSchema = dataToolSchema.extend({ transport: httpTransportSchema });
export type HttpToolSpec = z.output<typeof httpToolSchema>;

/** A tool that the caller of the run runs. */
export type ClientToolSpec = Omit<DataToolSpec, "transport"> & {
  transport: z.output<typeof clientTransportSchema>;
};

/** Whether an entry of `tools` is a tool as data, and not a name, a server or a package. Reads written entries too. */
export function isDataTool<Entry>(
  entry: Entry,
): entry is Extract<Entry, { readonly transport: unknown }> {
  return isRecord(entry) && "transport" in entry;
}

/** Returns the name of the tool that an entry of `tools` stands for; undefined for servers and packages. */
export function toolEntryName(entry: unknown): string | undefined {
  if (typeof entry === "string") return entry;
  if (!isDataTool(entry)) return undefined;
  const { name } = entry as { readonly name?: unknown };
  return typeof name === "string" ? name : undefined;
}
