import { isRecord } from "../../values/json.ts";
import { sqlStateOf } from "../errors.ts";
import { AgentSearches } from "./agent-search.ts";
import type { Queryable } from "../pool.ts";
import { queryTenant, withTenant } from "../tenant.ts";
import {
  checkId,
  checkPage,
  checkText,
  isoTime,
  jsonText,
  type Page,
  type PageRequest,
  toPage,
} from "./checks.ts";
import { ConflictError, InvalidValueError, NotFoundError, VersionConflictError } from "./errors.ts";
import type { PlatformTables } from "./platform.ts";

/** A version of an agent, without its definition. */
export interface AgentSummary {
  /** Of this version. */
  readonly id: string;
  /** The same for all versions. */
  readonly agentId: string;
  readonly name: string;
  /** Semantic version: `1.0.0`. */
  readonly version: string;
  readonly isActive: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** An agent in a list: its active version, with what tells it apart from others. */
export interface ListedAgent extends AgentSummary {
  /** `provider:model` of the definition; null if it names none, or if Postgres cannot read it. */
  readonly model: string | null;
  /** Number of entries in the `tools` of the definition; null if Postgres cannot read it. */
  readonly toolCount: number | null;
}

/** A version of an agent. */
export interface StoredAgent extends AgentSummary {
  readonly definition: Readonly<Record<string, unknown>>;
}

interface SummaryRow {
  readonly id: string;
  readonly agent_id: string;
  readonly name: string;
  readonly version: string;
  readonly is_active: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
}

interface AgentRow extends SummaryRow {
  readonly definition: Readonly<Record<string, unknown>>;
}

interface ListedRow extends SummaryRow {
  readonly facts: { readonly model: string | null; readonly tools: number } | null;
}

// Lists leave out definitions, which have up to 1 MiB each.
const summaryColumns = "id, agent_id, name, version, is_active, created_at, updated_at";
// Postgres cannot read JSON that has U+0000 or half of a surrogate pair.
const listedColumns = String.raw`${summaryColumns},
  case when definition::text !~ '\\u(0000|[dD][89a-fA-F])' then json_build_object(
    'model', left(definition->'llm_config'->>'default_model', 200),
    'tools', case json_typeof(definition->'tools') when 'array' then json_array_length(definition->'tools') else 0 end
  ) end as facts`;
const columns = `${summaryColumns}, definition`;
const maxDefinitionBytes = 1_048_576;
const firstVersion = "1.0.0";

/** The agents of tenants. New runs take the active version; older ones stay readable. */
export class Agents {
  /** Searches by offset, with numbers of versions. */
  readonly searches: AgentSearches;

  constructor(private readonly tables: PlatformTables) {
    this.searches = new AgentSearches(tables.schema, (tenantId, work) => this.#run(tenantId, work));
  }

  /**
   * Stores an agent with its first version.
   *
   * @throws ConflictError if the tenant has an agent of the name, deactivated ones included; InvalidValueError
   */
  async create(
    tenantId: string,
    given: {
      readonly name: string;
      readonly definition: object;
      /** Default `1.0.0`. */
      readonly version?: string;
    },
  ): Promise<StoredAgent> {
    const name = checkText("name", given.name, 200);
    const version = checkVersion(given.version ?? firstVersion);
    const definition = jsonText("definition", given.definition, maxDefinitionBytes);
    const taken = () =>
      new ConflictError("agent", `There is an agent ${JSON.stringify(name)} already.`);
    return this.#run(tenantId, async (client) => {
      const { rows } = await client.query(
        `select from ${this.tables.schema}.agent_definition where tenant_id = $1::uuid and name = $2 limit 1`,
        [tenantId, name],
      );
      if (rows.length > 0) throw taken();
      const agentId = this.tables.ids();
      return this.#insert(client, { tenantId, agentId, name, version, definition });
    }).catch((error: unknown) => {
      // Another call was first, between the two statements.
      throw sqlStateOf(error) === "23505" ? taken() : error;
    });
  }

  /** The active version, or the one that is named. @throws NotFoundError */
  async get(tenantId: string, agentId: string, version?: string): Promise<StoredAgent> {
    const id = checkId("agent", agentId);
    const { rows } = await queryTenant<AgentRow>(this.tables.tenants, tenantId, {
      text: `select ${columns} from ${this.tables.schema}.agent_definition
        where tenant_id = $1::uuid and agent_id = $2::uuid and case when $3::text is null then is_active else version = $3 end`,
      values: [tenantId, id, version ?? null],
    });
    return toAgent(existing(rows[0], agentId));
  }

  /** The row of one version, by its own id. @throws NotFoundError */
  async getVersion(tenantId: string, definitionId: string): Promise<StoredAgent> {
    const id = checkId("agent", definitionId);
    const { rows } = await queryTenant<AgentRow>(this.tables.tenants, tenantId, {
      text: `select ${columns} from ${this.tables.schema}.agent_definition where tenant_id = $1::uuid and id = $2::uuid`,
      values: [tenantId, id],
    });
    return toAgent(existing(rows[0], definitionId));
  }

  /** The active version of each agent, newest agent first, without definitions. Deactivated agents are left out. */
  async list(
    tenantId: string,
    filter: PageRequest & {
      /** Of this name exactly. */
      readonly name?: string;
    } = {},
  ): Promise<Page<ListedAgent>> {
    const { limit, after } = checkPage(filter);
    const name = filter.name === undefined ? null : checkText("name", filter.name, 200);
    const { rows } = await queryTenant<ListedRow>(this.tables.tenants, tenantId, {
      text: `select ${listedColumns} from ${this.tables.schema}.agent_definition
        where tenant_id = $1::uuid and is_active and ($2::uuid is null or agent_id < $2::uuid)
          and ($3::text is null or name = $3)
        order by agent_id desc limit $4`,
      values: [tenantId, after, name, limit + 1],
    });
    return toPage(rows, limit, {
      id: (row) => row.agent_id,
      item: (row) => ({
        ...toSummary(row),
        model: row.facts?.model ?? null,
        toolCount: row.facts?.tools ?? null,
      }),
    });
  }

  /** The active versions of the agents with these names. Names without an active agent are left out. */
  async activeNamed(tenantId: string, names: readonly string[]): Promise<readonly StoredAgent[]> {
    // What no agent is named does not reach Postgres, which refuses some texts.
    const known = names.filter((name) => /^[a-z0-9][a-z0-9_-]{0,127}$/.test(name));
    if (known.length === 0) return [];
    const { rows } = await queryTenant<AgentRow>(this.tables.tenants, tenantId, {
      text: `select ${columns} from ${this.tables.schema}.agent_definition
        where tenant_id = $1::uuid and is_active and name = any($2::text[])`,
      values: [tenantId, known],
    });
    return rows.map(toAgent);
  }

  /** All versions of an agent, newest first, without definitions. @throws NotFoundError */
  async versions(
    tenantId: string,
    agentId: string,
    page: PageRequest = {},
  ): Promise<Page<AgentSummary>> {
    const id = checkId("agent", agentId);
    const { limit, after } = checkPage(page);
    const rows = await this.#run(tenantId, async (client) => {
      const { rows: found } = await client.query<SummaryRow>(
        `select ${summaryColumns} from ${this.tables.schema}.agent_definition
        where tenant_id = $1::uuid and agent_id = $2::uuid and ($3::uuid is null or id < $3::uuid)
        order by id desc limit $4`,
        [tenantId, id, after, limit + 1],
      );
      // A cursor may be beyond the oldest version, or from the list of another agent.
      if (found.length === 0) await this.#first(client, tenantId, id);
      return found;
    });
    return toPage(rows, limit, { id: (row) => row.id, item: toSummary });
  }

  /**
   * Stores a new version, which becomes the active one.
   *
   * @throws NotFoundError; VersionConflictError unless `base` is the active version; InvalidValueError for a version that
   * does not follow all others
   */
  async newVersion(
    tenantId: string,
    given: {
      readonly agentId: string;
      /** The version that the caller has changed. */
      readonly base: string;
      readonly definition: object;
      /** Default: the newest version with its last number one higher. */
      readonly version?: string;
    },
  ): Promise<StoredAgent> {
    const agentId = checkId("agent", given.agentId);
    const definition = jsonText("definition", given.definition, maxDefinitionBytes);
    return this.#run(tenantId, async (client) => {
      const versions = await this.#lock(client, tenantId, agentId);
      const active = versions.find((one) => one.is_active);
      if (active?.version !== given.base)
        throw new VersionConflictError(given.base, active?.version ?? null);
      const newest = versions
        .map((one) => one.version)
        .toSorted(compareVersions)
        .at(-1);
      const version = nextVersion(newest ?? firstVersion, given.version);
      await this.#deactivate(client, tenantId, agentId);
      const { name } = active;
      return this.#insert(client, { tenantId, agentId, name, version, definition });
    });
  }

  /** Makes a version the active one: an older one, or one of a deactivated agent. @throws NotFoundError */
  async activate(tenantId: string, agentId: string, version: string): Promise<StoredAgent> {
    const id = checkId("agent", agentId);
    return this.#run(tenantId, async (client) => {
      const versions = await this.#lock(client, tenantId, id);
      const wanted = existing(
        versions.find((one) => one.version === version),
        `${agentId} ${version}`,
      );
      if (!wanted.is_active) await this.#deactivate(client, tenantId, id);
      const { rows } = await client.query<AgentRow>(
        `update ${this.tables.schema}.agent_definition
        set is_active = true, updated_at = case when is_active then updated_at else $3 end
        where tenant_id = $1::uuid and id = $2::uuid returning ${columns}`,
        [tenantId, wanted.id, this.tables.clock.now()],
      );
      return toAgent(existing(rows[0], agentId));
    });
  }

  /** Leaves an agent without an active version: it takes no new runs. Twice is once. @throws NotFoundError */
  async deactivate(tenantId: string, agentId: string): Promise<void> {
    const id = checkId("agent", agentId);
    await this.#run(tenantId, async (client) => {
      await this.#lock(client, tenantId, id);
      await this.#deactivate(client, tenantId, id);
    });
  }

  async #run<T>(tenantId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    return withTenant(this.tables.tenants, tenantId, work);
  }

  /** Finds out whether there is an agent, by its first version, which stays. @throws NotFoundError */
  async #first(
    client: Queryable,
    tenantId: string,
    agentId: string,
    lock: "" | "for update" = "",
  ): Promise<void> {
    const { rows } = await client.query(
      `select from ${this.tables.schema}.agent_definition where tenant_id = $1::uuid and agent_id = $2::uuid
      order by id limit 1 ${lock}`,
      [tenantId, agentId],
    );
    if (rows.length === 0) throw new NotFoundError("agent", agentId);
  }

  /** All versions, which no other call changes until the transaction ends. @throws NotFoundError */
  async #lock(
    client: Queryable,
    tenantId: string,
    agentId: string,
  ): Promise<readonly SummaryRow[]> {
    // Rows that were added while this waited are read by the second statement.
    await this.#first(client, tenantId, agentId, "for update");
    const { rows } = await client.query<SummaryRow>(
      `select ${summaryColumns} from ${this.tables.schema}.agent_definition where tenant_id = $1::uuid and agent_id = $2::uuid`,
      [tenantId, agentId],
    );
    return rows;
  }

  async #deactivate(client: Queryable, tenantId: string, agentId: string): Promise<void> {
    await client.query(
      `update ${this.tables.schema}.agent_definition set is_active = false, updated_at = $3
      where tenant_id = $1::uuid and agent_id = $2::uuid and is_active`,
      [tenantId, agentId, this.tables.clock.now()],
    );
  }

  async #insert(
    client: Queryable,
    of: {
      readonly tenantId: string;
      readonly agentId: string;
      readonly name: string;
      readonly version: string;
      readonly definition: string;
    },
  ): Promise<StoredAgent> {
    const { rows } = await client.query<AgentRow>(
      `insert into ${this.tables.schema}.agent_definition
        (id, tenant_id, agent_id, name, version, definition, created_at, updated_at, worker_labels)
      values ($1::uuid, $2::uuid, $3::uuid, $4, $5, $6::json, $7, $7, $8::text[]) returning ${columns}`,
      [
        this.tables.ids(),
        of.tenantId,
        of.agentId,
        of.name,
        of.version,
        of.definition,
        this.tables.clock.now(),
        labelsOf(JSON.parse(of.definition)),
      ],
    );
    return toAgent(rows[0]!);
  }
}

/** The labels that workers need for runs of a definition, each once and in order. */
function labelsOf(definition: unknown): readonly string[] {
  const config: unknown = isRecord(definition) ? definition["execution_config"] : undefined;
  const labels: unknown = isRecord(config) ? config["worker_labels"] : undefined;
  return Array.isArray(labels) ? [...new Set(labels as string[])].toSorted() : [];
}

/** @throws InvalidValueError */
function checkVersion(version: string): string {
  if (!/^(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}$/.test(version))
    throw new InvalidValueError("version", "three numbers as in 1.0.0");
  return version;
}

function nextVersion(newest: string, given: string | undefined): string {
  if (given !== undefined) {
    if (compareVersions(checkVersion(given), newest) <= 0)
      throw new InvalidValueError("version", `one after ${newest}`);
    return given;
  }
  const [major, minor, patch] = newest.split(".").map(Number);
  return checkVersion(`${major}.${minor}.${(patch ?? 0) + 1}`);
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  const at = [0, 1, 2].find((place) => left?.[place] !== right?.[place]) ?? 0;
  return (left?.[at] ?? 0) - (right?.[at] ?? 0);
}

function existing<Row>(row: Row | undefined, id: string): Row {
  if (row === undefined) throw new NotFoundError("agent", id);
  return row;
}

function toAgent(row: AgentRow): StoredAgent {
  return { ...toSummary(row), definition: row.definition };
}

function toSummary(row: SummaryRow): AgentSummary {
  return {
    id: row.id,
    agentId: row.agent_id,
    name: row.name,
    version: row.version,
    isActive: row.is_active,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
