import { sqlStateOf } from "../../errors.ts";
import { queryTenant, withTenant } from "../../tenant.ts";
import {
  checkId,
  checkPage,
  checkText,
  isoTime,
  jsonbText,
  jsonText,
  type Page,
  type PageRequest,
  toPage,
} from "../checks.ts";
import { ConflictError, NotFoundError } from "../errors.ts";
import type { PlatformTables } from "../platform.ts";

export interface StoredTool {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** Everything else: description, schemas, transport, permissions, execution. */
  readonly definition: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
}

/** A tool that an agent may use. */
export interface ToolBinding {
  readonly id: string;
  readonly agentId: string;
  readonly tool: StoredTool;
  /** `execution`, `permissions`, `requires_approval`, `description`. */
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly isEnabled: boolean;
}

interface ToolRow {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly definition: Readonly<Record<string, unknown>>;
  readonly created_at: Date;
}

interface BindingRow extends ToolRow {
  readonly binding_id: string;
  readonly agent_id: string;
  readonly config_overrides: Readonly<Record<string, unknown>>;
  readonly is_enabled: boolean;
}

const columns = "t.id, t.name, t.version, t.definition, t.created_at";
const maxDefinitionBytes = 262_144;
/** Bindings of an agent. */
const maxBindings = 200;
/** Tools of a tenant. */
const maxTools = 1_000;

/** The tools that tenants have registered, and the agents that use them. */
export class Tools {
  constructor(private readonly tables: PlatformTables) {}

  /** @throws ConflictError if the tenant has a tool of the name, or 1,000 tools; InvalidValueError */
  async create(
    tenantId: string,
    given: {
      readonly name: string;
      /** Default `1.0.0`. */
      readonly version?: string;
      readonly definition: object;
    },
  ): Promise<StoredTool> {
    const { tenants, schema, ids, clock } = this.tables;
    const name = checkText("name", given.name, 200);
    const version = checkText("version", given.version ?? "1.0.0", 50);
    const definition = jsonText("definition", given.definition, maxDefinitionBytes);
    return withTenant(tenants, tenantId, async (client) => {
      const { rows } = await client.query<ToolRow>(
        `insert into ${schema}.tool as t (id, tenant_id, name, version, definition, created_at)
        select $1::uuid, $2::uuid, $3, $4, $5::json, $6::timestamptz
        where (select count(*) from ${schema}.tool where tenant_id = $2::uuid) < ${maxTools} returning ${columns}`,
        [ids(), tenantId, name, version, definition, clock.now()],
      );
      if (rows[0] === undefined)
        throw new ConflictError("tool", `A tenant has at most ${maxTools} tools.`);
      return toTool(rows[0]);
    }).catch((error: unknown) => {
      if (sqlStateOf(error) !== "23505") throw error;
      throw new ConflictError("tool", `There is a tool ${JSON.stringify(name)} already.`);
    });
  }

  /** @throws NotFoundError */
  async get(tenantId: string, toolId: string): Promise<StoredTool> {
    const { tenants, schema } = this.tables;
    const id = checkId("tool", toolId);
    const { rows } = await queryTenant<ToolRow>(tenants, tenantId, {
      text: `select ${columns} from ${schema}.tool t where t.tenant_id = $1::uuid and t.id = $2::uuid`,
      values: [tenantId, id],
    });
    if (rows[0] === undefined) throw new NotFoundError("tool", toolId);
    return toTool(rows[0]);
  }

  /** Newest first. */
  async list(
    tenantId: string,
    filter: PageRequest & { readonly name?: string } = {},
  ): Promise<Page<StoredTool>> {
    const { tenants, schema } = this.tables;
    const { limit, after } = checkPage(filter);
    const name = filter.name === undefined ? null : checkText("name", filter.name, 200);
    const { rows } = await queryTenant<ToolRow>(tenants, tenantId, {
      text: `select ${columns} from ${schema}.tool t
        where t.tenant_id = $1::uuid and ($2::uuid is null or t.id < $2::uuid) and ($3::text is null or t.name = $3)
        order by t.id desc limit $4`,
      values: [tenantId, after, name, limit + 1],
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toTool });
  }

  /** Removes a tool, with its bindings. @throws NotFoundError */
  async remove(tenantId: string, toolId: string): Promise<void> {
    const { tenants, schema } = this.tables;
    const id = checkId("tool", toolId);
    const { rowCount } = await queryTenant(tenants, tenantId, {
      text: `delete from ${schema}.tool where tenant_id = $1::uuid and id = $2::uuid`,
      values: [tenantId, id],
    });
    if (rowCount !== 1) throw new NotFoundError("tool", toolId);
  }

  /**
   * Lets an agent use a tool, or replaces how it does.
   *
   * @throws NotFoundError for an unknown agent or tool; ConflictError for more than 200 tools of an agent; InvalidValueError
   */
  async bind(
    tenantId: string,
    given: {
      readonly agentId: string;
      readonly toolId: string;
      readonly overrides?: Readonly<Record<string, unknown>>;
      /** Default true. */
      readonly isEnabled?: boolean;
    },
  ): Promise<void> {
    const { tenants, schema, ids, clock } = this.tables;
    const agentId = checkId("agent", given.agentId);
    const toolId = checkId("tool", given.toolId);
    const overrides = jsonbText("overrides", given.overrides ?? {}, 65_536);
    await withTenant(tenants, tenantId, async (client) => {
      const { rows: agents } = await client.query(
        `select from ${schema}.agent_definition where tenant_id = $1::uuid and agent_id = $2::uuid
        order by id limit 1 for update`,
        [tenantId, agentId],
      );
      if (agents.length === 0) throw new NotFoundError("agent", given.agentId);
      const { rows } = await client.query<{ bindings: number }>(
        `select count(*)::integer as bindings from ${schema}.tool_binding
        where tenant_id = $1::uuid and agent_id = $2::uuid and tool_id <> $3::uuid`,
        [tenantId, agentId, toolId],
      );
      if ((rows[0]?.bindings ?? 0) >= maxBindings)
        throw new ConflictError("agent", `An agent has at most ${maxBindings} tools.`);
      const { rowCount } = await client.query(
        `insert into ${schema}.tool_binding (id, tenant_id, agent_id, tool_id, config_overrides, is_enabled, created_at)
        select $1::uuid, $2::uuid, $3::uuid, t.id, $5::jsonb, $6::boolean, $7::timestamptz
        from ${schema}.tool t where t.tenant_id = $2::uuid and t.id = $4::uuid
        on conflict (tenant_id, agent_id, tool_id) do update
        set config_overrides = excluded.config_overrides, is_enabled = excluded.is_enabled`,
        [ids(), tenantId, agentId, toolId, overrides, given.isEnabled ?? true, clock.now()],
      );
      if (rowCount !== 1) throw new NotFoundError("tool", given.toolId);
    });
  }

  /** Takes a tool from an agent. False if the agent did not have it. */
  async unbind(
    tenantId: string,
    of: { readonly agentId: string; readonly toolId: string },
  ): Promise<boolean> {
    const { tenants, schema } = this.tables;
    const values = [tenantId, checkId("agent", of.agentId), checkId("tool", of.toolId)];
    const { rowCount } = await queryTenant(tenants, tenantId, {
      text: `delete from ${schema}.tool_binding where tenant_id = $1::uuid and agent_id = $2::uuid and tool_id = $3::uuid`,
      values: values,
    });
    return rowCount === 1;
  }

  /** The tools of an agent, disabled ones included, by name. At most 200. */
  async bindings(tenantId: string, agentId: string): Promise<readonly ToolBinding[]> {
    return this.bindingsOf(tenantId, [checkId("agent", agentId)]);
  }

  /** The tools of several agents, disabled ones included, by name. */
  async bindingsOf(tenantId: string, agentIds: readonly string[]): Promise<readonly ToolBinding[]> {
    const { tenants, schema } = this.tables;
    const { rows } = await queryTenant<BindingRow>(tenants, tenantId, {
      text: `select ${columns}, b.id as binding_id, b.agent_id, b.config_overrides, b.is_enabled
        from ${schema}.tool_binding b join ${schema}.tool t on t.id = b.tool_id and t.tenant_id = b.tenant_id
        where b.tenant_id = $1::uuid and b.agent_id = any($2::uuid[]) order by t.name, b.id`,
      values: [tenantId, agentIds],
    });
    return rows.map((row) => ({
      id: row.binding_id,
      agentId: row.agent_id,
      tool: toTool(row),
      overrides: row.config_overrides,
      isEnabled: row.is_enabled,
    }));
  }

  /** The tools of a tenant whose name or id is among the texts given. What is neither is left out. */
  async named(tenantId: string, namesOrIds: readonly string[]): Promise<readonly StoredTool[]> {
    if (namesOrIds.length === 0) return [];
    const { tenants, schema } = this.tables;
    // Names are of letters, digits, - and _, so that Postgres can store all that matter.
    const texts = namesOrIds.filter((text) => /^[\w-]{1,200}$/.test(text));
    const { rows } = await queryTenant<ToolRow>(tenants, tenantId, {
      text: `select ${columns} from ${schema}.tool t
        where t.tenant_id = $1::uuid and (t.name = any($2::text[]) or t.id::text = any($2::text[]))`,
      values: [tenantId, texts],
    });
    return rows.map(toTool);
  }
}

function toTool(row: ToolRow): StoredTool {
  const { id, name, version, definition } = row;
  return { id, name, version, definition, createdAt: isoTime(row.created_at) };
}
