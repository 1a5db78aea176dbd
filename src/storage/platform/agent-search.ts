import type { Queryable } from "../pool.ts";
import { isoTime } from "./checks.ts";

/** A version of an agent in a search. */
export interface FoundAgent {
  /** Of this version. */
  readonly id: string;
  /** The same for all versions. */
  readonly agentId: string;
  readonly name: string;
  /** Semantic version: `1.0.0`. */
  readonly version: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Place of the version in the order of their making, from 1. */
  readonly number: number;
  /** Of the definition; null if it has none. */
  readonly description: string | null;
  /** When the first version was made. */
  readonly agentCreatedAt: string;
}

const sortColumns = {
  assistant_id: "agent_id",
  name: "name",
  created_at: "agent_created_at",
  updated_at: "updated_at",
} as const;

export interface AgentFilter {
  /** The agent of this id, or else the one of this name. */
  readonly idOrName?: string;
  /** Of this name exactly. */
  readonly name?: string;
  /** Part of the name, in letters of either case. */
  readonly namePart?: string;
  /** With this active version. */
  readonly version?: string;
}

export interface AgentSearch extends AgentFilter {
  /** 1 to 1,000. */
  readonly limit: number;
  readonly offset: number;
  /** Default `created_at`. */
  readonly sortBy?: keyof typeof sortColumns | undefined;
  /** Default descending. */
  readonly isAscending?: boolean;
}

interface FoundRow {
  readonly id: string;
  readonly agent_id: string;
  readonly name: string;
  readonly version: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly number: string;
  readonly description: string | null;
  readonly agent_created_at: Date;
}

// `->` fails for a document with an escape of NUL or of half a surrogate pair anywhere: such a one shows no description.
const description = String.raw`case when one.definition::text !~ '\\u(0000|[dD][89a-fA-F])'
    then nullif(left(one.definition->>'description', 4000), '') end`;

/** Finds versions of a tenant's agents, with their numbers. */
export class AgentSearches {
  constructor(
    private readonly schema: string,
    private readonly run: <T>(
      tenantId: string,
      work: (client: Queryable) => Promise<T>,
    ) => Promise<T>,
  ) {}

  /** A part of the active versions that a filter fits, one for each agent, and how many there are. */
  async search(
    tenantId: string,
    search: AgentSearch,
  ): Promise<{ readonly items: readonly FoundAgent[]; readonly total: number }> {
    const values = filterValues(tenantId, search);
    return this.run(tenantId, async (client) => ({
      items: await this.#page(client, values, search),
      total: await this.#count(client, values),
    }));
  }

  /** The active version of the first agent that a filter fits; undefined if none does. */
  async find(tenantId: string, filter: AgentFilter): Promise<FoundAgent | undefined> {
    const values = filterValues(tenantId, filter);
    const page = { limit: 1, offset: 0 };
    const [found] = await this.run(tenantId, (client) => this.#page(client, values, page));
    return found;
  }

  async count(tenantId: string, filter: AgentFilter): Promise<number> {
    return this.run(tenantId, (client) => this.#count(client, filterValues(tenantId, filter)));
  }

  /** A part of an agent's versions, newest first; with `version`, that one alone. */
  async versions(
    tenantId: string,
    of: Pick<AgentSearch, "limit" | "offset" | "version"> & { readonly agentId: string },
  ): Promise<readonly FoundAgent[]> {
    const { rows } = await this.run(tenantId, (client) =>
      client.query<FoundRow>(
        `select ${this.#columns()} from ${this.schema}.agent_definition one
        where one.tenant_id = $1::uuid and one.agent_id = $2::uuid and ($3::text is null or one.version = $3)
        order by one.id desc limit $4 offset $5`,
        [tenantId, of.agentId, storable(of.version), of.limit, of.offset],
      ),
    );
    return rows.map(toFound);
  }

  /** The version of a number; undefined if there is none. */
  async numbered(
    tenantId: string,
    of: { readonly agentId: string; readonly number: number },
  ): Promise<FoundAgent | undefined> {
    const { rows } = await this.run(tenantId, (client) =>
      client.query<FoundRow>(
        `select ${this.#columns()} from ${this.schema}.agent_definition one
        where one.tenant_id = $1::uuid and one.agent_id = $2::uuid order by one.id limit 1 offset $3`,
        [tenantId, of.agentId, of.number - 1],
      ),
    );
    return rows[0] && toFound(rows[0]);
  }

  async #page(
    client: Queryable,
    values: readonly unknown[],
    { limit, offset, sortBy = "created_at", isAscending = false }: AgentSearch,
  ): Promise<readonly FoundAgent[]> {
    const direction = isAscending ? "asc" : "desc";
    const { rows } = await client.query<FoundRow>(
      `select * from (select ${this.#columns()}, ${rank} as rank
        from ${this.schema}.agent_definition one where one.is_active and ${conditions}) found
      order by rank, ${sortColumns[sortBy]} ${direction}, agent_id ${direction} limit $7 offset $8`,
      [...values, limit, offset],
    );
    return rows.map(toFound);
  }

  #columns(): string {
    const versions = `from ${this.schema}.agent_definition other
      where other.tenant_id = one.tenant_id and other.agent_id = one.agent_id`;
    return `one.id, one.agent_id, one.name, one.version, one.created_at, one.updated_at,
      ${description} as description, (select count(*) ${versions} and other.id <= one.id) as number,
      (select min(other.created_at) ${versions}) as agent_created_at`;
  }

  async #count(client: Queryable, values: readonly unknown[]): Promise<number> {
    const { rows } = await client.query<{ readonly count: string }>(
      `select count(*) from ${this.schema}.agent_definition one where one.is_active and ${conditions}`,
      values,
    );
    return Number(rows[0]?.count ?? 0);
  }
}

const conditions = `one.tenant_id = $1::uuid and ($2::uuid is null and $3::text is null or one.agent_id = $2::uuid or one.name = $3)
  and ($4::text is null or one.name = $4) and ($5::text is null or strpos(one.name, lower($5)) > 0)
  and ($6::text is null or one.version = $6)`;

/** The agent of an id comes before one of that name. */
const rank = "case when one.agent_id = $2::uuid then 0 else 1 end";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function filterValues(tenantId: string, filter: AgentFilter): readonly (string | null)[] {
  const { idOrName, name, namePart, version } = filter;
  const id = idOrName !== undefined && uuid.test(idOrName) ? idOrName.toLowerCase() : null;
  return [tenantId, id, storable(idOrName), storable(name), storable(namePart), storable(version)];
}

/** Postgres refuses some texts; U+FFFD, in no name and no version, stands for what is in them. */
function storable(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll(/\0|\p{Surrogate}/gu, "\uFFFD");
}

function toFound(row: FoundRow): FoundAgent {
  return {
    id: row.id,
    agentId: row.agent_id,
    name: row.name,
    version: row.version,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    number: Number(row.number),
    description: row.description,
    agentCreatedAt: isoTime(row.agent_created_at),
  };
}
