import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { schemaProblems } from "../../definition/check/schema-problems.ts";
import { type DefinitionProblem, problemsMessage } from "../../definition/check/problems.ts";
import { readDocument } from "../../definition/load/read-document.ts";
import { workerLabel } from "../../definition/schema/agent.ts";
import { StratagraphError } from "../../errors.ts";
import { runKinds } from "../../storage/platform/runs/run-rows.ts";
import { type CliIo, UsageError } from "../io.ts";

const rate = z.strictObject({
  per_minute: z.number().positive().max(1e9),
  burst: z.int().min(1).max(1e9).optional(),
});
const milliseconds = z.int().min(1).max(86_400_000);

/** The settings of `stratagraph serve` and `stratagraph worker`, as their file has them. */
export const serveConfigSchema = z.strictObject({
  host: z.string().min(1).max(255).optional(),
  port: z.int().min(0).max(65_535).optional(),
  dev: z.boolean().optional(),
  agents: z.string().min(1).optional(),
  tenant: z.string().min(1).max(100).optional(),
  experiments: z.string().min(1).optional(),
  database_url: z.string().min(1).optional(),
  listen_url: z.string().min(1).optional(),
  prepared_statements: z.boolean().optional(),
  database_connections: z.int().min(1).max(1000).optional(),
  concurrency: z.int().min(0).max(1000).optional(),
  kinds: z.array(z.enum(runKinds)).min(1).max(runKinds.length).optional(),
  labels: z.array(workerLabel).max(64).optional(),
  model: z.string().min(1).max(200).optional(),
  http_allow: z.array(z.string().min(1).max(300)).max(1000).optional(),
  shutdown_seconds: z.number().min(0).max(3600).optional(),
  cors: z.array(z.union([z.literal("*"), z.url({ protocol: /^https?$/ })])).optional(),
  log_level: z.enum(["debug", "info", "warn", "error", "silent"]).optional(),
  trusted_proxies: z.array(z.string()).optional(),
  metrics_for: z.enum(["admin", "loopback"]).optional(),
  allow: z
    .strictObject({
      stdio_servers: z.boolean().optional(),
      mcp_hosts: z.array(z.string()).optional(),
      file_tools: z.boolean().optional(),
      community_tools: z.boolean().optional(),
      model_servers: z.boolean().optional(),
      plain_secrets: z.boolean().optional(),
    })
    .optional(),
  limits: z
    .strictObject({
      max_body_bytes: z.int().min(1).max(1_073_741_824).optional(),
      max_connections: z.int().min(1).max(1_000_000).optional(),
      headers_timeout_ms: milliseconds.optional(),
      request_timeout_ms: milliseconds.optional(),
      answer_timeout_ms: milliseconds.optional(),
    })
    .optional(),
  rates: z
    .strictObject({ per_key: rate.nullable().optional(), per_tenant: rate.nullable().optional() })
    .optional(),
});
export type ServeConfig = z.output<typeof serveConfigSchema>;

/** The options of the commands, as commander gives them. */
export interface ServeFlags {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly dev?: boolean;
  readonly agents?: string;
  readonly tenant?: string;
  readonly experiments?: string;
  readonly databaseUrl?: string;
  readonly databaseConnections?: number;
  readonly concurrency?: number;
  readonly kinds?: readonly string[];
  readonly labels?: readonly string[];
  readonly model?: string;
  readonly httpAllow?: readonly string[];
  readonly shutdownSeconds?: number;
  readonly cors?: readonly string[];
  readonly logLevel?: string;
}

/** The settings of the server are not valid. The message lists the problems, one per line. */
class InvalidServeConfigError extends StratagraphError {
  readonly code = "invalid_serve_config";

  constructor(readonly problems: readonly DefinitionProblem[]) {
    super(problemsMessage("The configuration of the server", problems));
  }
}

const usualFile = "stratagraph.yaml";

/**
 * Reads the settings: options, then the environment, then the file.
 *
 * @throws InvalidServeConfigError with every problem and where it is; UsageError for a file that is not there
 */
export async function readServeConfig(
  flags: ServeFlags,
  { env, cwd }: Pick<CliIo, "env" | "cwd">,
): Promise<ServeConfig> {
  const file = await readConfigFile(flags.config, cwd);
  const fromEnv = checked(environmentSettings(env), (problem) => {
    return { ...problem, path: [environmentNames[String(problem.path[0])] ?? "environment"] };
  });
  const { config: _, ...named } = flags;
  const given = Object.fromEntries(
    Object.entries(named).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
  const fromFlags = checked(given, (problem) => {
    const [name = ""] = problem.path;
    return { ...problem, path: [`--${String(name).replaceAll("_", "-")}`] };
  });
  return { ...file, ...fromEnv, ...fromFlags };
}

/** The variable of the environment of each setting. */
export const environmentNames: Readonly<Record<string, string>> = {
  host: "STRATAGRAPH_HOST",
  port: "STRATAGRAPH_PORT",
  dev: "STRATAGRAPH_DEV",
  agents: "STRATAGRAPH_AGENTS",
  tenant: "STRATAGRAPH_TENANT",
  experiments: "STRATAGRAPH_EXPERIMENTS",
  database_url: "DATABASE_URL",
  listen_url: "STRATAGRAPH_LISTEN_URL",
  prepared_statements: "STRATAGRAPH_PREPARED_STATEMENTS",
  database_connections: "STRATAGRAPH_DATABASE_CONNECTIONS",
  concurrency: "STRATAGRAPH_CONCURRENCY",
  kinds: "STRATAGRAPH_KINDS",
  labels: "STRATAGRAPH_LABELS",
  model: "STRATAGRAPH_MODEL",
  http_allow: "STRATAGRAPH_HTTP_ALLOW",
  shutdown_seconds: "STRATAGRAPH_SHUTDOWN_SECONDS",
  cors: "STRATAGRAPH_CORS",
  log_level: "STRATAGRAPH_LOG_LEVEL",
};

function environmentSettings(env: CliIo["env"]): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const [key, name] of Object.entries(environmentNames)) {
    const text = env[name] || (key === "port" ? env["PORT"] : undefined);
    if (text) settings[key] = fromText(key, text);
  }
  return settings;
}

const lists = new Set(["cors", "http_allow", "kinds", "labels"]);
const numbers = new Set(["port", "database_connections", "concurrency", "shutdown_seconds"]);

/** What is not of the right form stays text, which the schema refuses. */
function fromText(key: string, text: string): unknown {
  if (numbers.has(key)) return /^\d{1,5}$/.test(text) ? Number(text) : text;
  if (lists.has(key)) {
    const parts = text.split(",").map((part) => part.trim());
    return parts.filter((part) => part !== "");
  }
  if (key !== "dev" && key !== "prepared_statements") return text;
  if (text === "1" || text === "true") return true;
  return text === "0" || text === "false" ? false : text;
}

function checked(
  written: Readonly<Record<string, unknown>>,
  locate: (problem: DefinitionProblem) => DefinitionProblem,
): ServeConfig {
  const parsed = serveConfigSchema.safeParse(written);
  if (parsed.success) return parsed.data;
  throw new InvalidServeConfigError(schemaProblems(written, serveConfigSchema).map(locate));
}

async function readConfigFile(given: string | undefined, cwd: string): Promise<ServeConfig> {
  const file = given ?? usualFile;
  let text: string;
  try {
    text = await readFile(resolve(cwd, file), "utf8");
  } catch (cause) {
    if (given === undefined && (cause as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new UsageError(`The configuration ${file} cannot be read.`, "file_not_found", { cause });
  }
  const read = await readDocument(text, { file, what: "configuration" });
  if (!read.ok) throw new InvalidServeConfigError(read.problems);
  const parsed = serveConfigSchema.safeParse(read.document);
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(read.document, serveConfigSchema);
  throw new InvalidServeConfigError(read.locateProblems(problems));
}
