import { z } from "zod";
import { isPermission } from "../tool/tool.ts";

const permission = z
  .string()
  .refine(
    (text) => isPermission(text, { wildcards: false }),
    "expected a permission such as file:read",
  );

/** A string that may contain `{{secret:NAME}}` references. */
const withSecrets = z.string();

const endpoint = withSecrets.refine((text) => {
  if (hasMalformedReference(text)) return true;
  const filled = replaceSecrets(text, () => "secret");
  return URL.canParse(filled) && /^https?:$/.test(new URL(filled).protocol);
}, "expected an http or https URL");

const milliseconds = z.int().min(1).max(2_147_483_647);

const serverExecutionSchema = z.strictObject({
  timeout_ms: milliseconds.optional(),
  retry: z
    .strictObject({
      max_retries: z.int().min(0).max(20).default(0),
      backoff_ms: milliseconds.default(500),
    })
    .optional(),
  idempotent: z.boolean().optional(),
  repeatable: z
    .boolean()
    .describe("Whether the same call with the same result, over and over, is normal.")
    .optional(),
  max_result_bytes: milliseconds.optional(),
});

/** Settings that entries of `tools` share, whatever they stand for. */
export const toolSettings = {
  execution: serverExecutionSchema.optional(),
  permissions: z.array(permission).describe("Permissions that an agent needs.").optional(),
  requires_approval: z.boolean().optional(),
};

const common = {
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, _ and -"),
  tools: z
    .array(z.string().min(1))
    .describe("The server's tools to use, by its own names. Default: all.")
    .optional(),
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, "expected 1 to 32 letters, digits, _ and -")
    .describe("Put before the names of its tools.")
    .optional(),
  start_timeout_ms: z
    .int()
    .min(1)
    .max(300_000)
    .default(15_000)
    .describe("Milliseconds for starting it and listing its tools."),
  ...toolSettings,
  overrides: z
    .record(
      z.string(),
      z.strictObject({ description: z.string().min(1).optional(), ...toolSettings }),
    )
    .default({})
    .describe("Settings of single tools, by the server's own names."),
};

const remote = {
  endpoint,
  headers: z.record(z.string(), withSecrets).default({}),
};

/** An MCP server: its transport, and the settings of its tools. */
export const serverSchema = z.discriminatedUnion("transport", [
  z.strictObject({
    transport: z.literal("stdio"),
    command: z.string().min(1),
    args: z.array(withSecrets).default([]),
    env: z
      .record(z.string(), withSecrets)
      .default({})
      .describe(
        "Beside a few harmless variables such as PATH, all that the server's process gets.",
      ),
    cwd: z.string().min(1).optional(),
    ...common,
  }),
  z.strictObject({ transport: z.literal("http"), ...remote, ...common }),
  z.strictObject({ transport: z.literal("sse"), ...remote, ...common }),
]);
export type ServerSpec = z.output<typeof serverSchema>;
export type ServerSpecInput = z.input<typeof serverSchema>;

/** A tool of `@langchain/community`, named by its module. */
export const communitySchema = z.strictObject({
  tool: z
    .string()
    .regex(
      /^[a-z0-9_]+(?:\/[a-z0-9_]+)*$/,
      "expected a module of @langchain/community/tools, such as wikipedia_query_run",
    ),
  class: z.string().describe("The class of the module, where it has several tools.").optional(),
  options: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("Fields of its constructor; {{secret:NAME}} in texts stands for a secret."),
  ...toolSettings,
});
export type CommunitySpec = z.output<typeof communitySchema>;
export type CommunitySpecInput = z.input<typeof communitySchema>;

const reference = /\{\{\s*secret:\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** Returns the names of the secrets that a text refers to as `{{secret:NAME}}`, without duplicates, in order. */
export function findSecretNames(text: string): readonly string[] {
  return [...new Set([...text.matchAll(reference)].map(([, name]) => name as string))];
}

/** Replaces every secret reference in a text. */
export function replaceSecrets(text: string, valueOf: (name: string) => string): string {
  return text.replace(reference, (_whole, name: string) => valueOf(name));
}

/** Whether a text contains a malformed secret reference. */
export function hasMalformedReference(text: string): boolean {
  return /\{\{\s*secret/i.test(text.replace(reference, ""));
}
