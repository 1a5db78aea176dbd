import type { StoredAgent } from "../../storage/platform/agents.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { AgentStore, AuditWriter } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import {
  type KnownNames,
  readWrittenDefinition,
  type WrittenDefinition,
  type WrittenNames,
  writtenNames,
} from "./read-definition.ts";
import type { TenantAllowance } from "./tenant-rules.ts";

export interface AgentWriteOptions {
  readonly store: AgentStore;
  /** Null: writes leave no audit rows. */
  readonly audit: AuditWriter | null;
  readonly allow?: TenantAllowance;
  /** Which of the names in a definition a tenant has. Left out, names are not checked. */
  readonly known?: (tenantId: string, names: WrittenNames) => Promise<KnownNames>;
}

/** Writes agents as their definitions are checked, and records who did. */
export class AgentWrites {
  constructor(private readonly options: AgentWriteOptions) {}

  /** @throws InvalidDefinitionError; ConflictError if the tenant has an agent of the name */
  async create(principal: Principal, written: unknown): Promise<StoredAgent> {
    const { document, definition } = await this.check(principal, written);
    const { name, version } = definition.spec;
    const given = { name, definition: document, version };
    const agent = await this.options.store.create(principal.tenantId, given);
    await this.#record(principal, "agent.create", { subject: agent.agentId, after: document });
    return agent;
  }

  /**
   * Stores a definition as a new version of an agent. Without a version in it, the last number of the newest version goes
   * up by one.
   *
   * @param current the active version
   * @throws HttpProblem for another name; InvalidDefinitionError, VersionConflictError
   */
  async change(
    principal: Principal,
    current: StoredAgent,
    change: { readonly written: unknown; readonly isVersioned: boolean },
  ): Promise<StoredAgent> {
    const { document, definition } = await this.check(principal, change.written);
    if (definition.spec.name !== current.name) throw anotherName(current.name, "/name");
    const agent = await this.options.store.newVersion(principal.tenantId, {
      agentId: current.agentId,
      base: current.version,
      definition: document,
      ...(change.isVersioned && { version: definition.spec.version }),
    });
    const before = current.definition;
    await this.#record(principal, "agent.update", {
      subject: agent.agentId,
      before,
      after: document,
    });
    return agent;
  }

  /** Checks a definition as it is checked before it is stored. @throws InvalidDefinitionError */
  async check({ tenantId }: Principal, written: unknown): Promise<WrittenDefinition> {
    const { allow } = this.options;
    const known = await this.options.known?.(tenantId, writtenNames(written));
    return readWrittenDefinition(written, { allow, known });
  }

  async deactivate(principal: Principal, agentId: string): Promise<void> {
    await this.options.store.deactivate(principal.tenantId, agentId);
    await this.#record(principal, "agent.deactivate", { subject: agentId });
  }

  async #record(
    { tenantId, keyId }: Principal,
    action: string,
    change: { readonly subject: string; readonly before?: unknown; readonly after?: unknown },
  ): Promise<void> {
    await this.options.audit?.append(tenantId, { actor: `key:${keyId}`, action, ...change });
  }
}

/** The problem of a change that gives an agent another name. */
export function anotherName(name: string, pointer: string): HttpProblem {
  return new HttpProblem("invalid_request", {
    detail: "The name of an agent does not change. Create another agent.",
    errors: [{ pointer, detail: `expected "${name}"` }],
  });
}
