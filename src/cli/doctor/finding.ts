import type { CompileServices } from "../../compile/compile-agent.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { StratagraphError } from "../../errors.ts";
import { MissingApiKeyError, MissingProviderError } from "../../models/errors.ts";
import { CommunityPackageError } from "../../tools/registry.ts";
import { MissingSecretError } from "../../tools/missing-secret-error.ts";
import type { FoundTools } from "../tools/find.ts";

/** What one check says of one thing. */
export interface Finding {
  /** What was looked at: `database`, `model`, `server`, … */
  readonly check: string;
  /** A `warning` keeps nothing from running; a `problem` does. */
  readonly status: "ok" | "warning" | "problem";
  /** Which of them: a model, a server, a tool; empty where there is only one. */
  readonly subject: string;
  readonly message: string;
  /** What to do; null where there is nothing to do, or the message says it. */
  readonly fix: string | null;
}

/** What the checks of an agent look at. */
export interface DoctorServices extends CompileServices {
  /** The agent's tools. */
  readonly found: FoundTools;
}

/** Looks at one side of an agent. */
export type AgentCheck = (
  definition: AgentDefinition,
  services: DoctorServices,
) => readonly Finding[] | Promise<readonly Finding[]>;

type About = Pick<Finding, "check" | "subject">;

export function ok(about: About, message: string): Finding {
  return { ...about, status: "ok", message, fix: null };
}

export function warning(about: About, message: string, fix: string | null = null): Finding {
  return { ...about, status: "warning", message, fix };
}

export function problem(about: About, message: string, fix: string | null = null): Finding {
  return { ...about, status: "problem", message, fix };
}

/** An error as a problem, with what to do apart from it where that is known. */
export function problemOf(about: About, error: StratagraphError): Finding {
  if (error instanceof MissingApiKeyError) {
    return problem(about, `${error.ref} needs an API key.`, setVariable(error.variable));
  }
  if (error instanceof MissingProviderError || error instanceof CommunityPackageError) {
    const { packageName } = error;
    return problem(about, `It needs the package ${packageName}.`, `npm install ${packageName}`);
  }
  if (error instanceof MissingSecretError) {
    return problem(about, `It needs the secret ${error.secret}.`, setVariable(error.secret));
  }
  return problem(about, error.message);
}

export function setVariable(name: string): string {
  return `Set the environment variable ${name}.`;
}
