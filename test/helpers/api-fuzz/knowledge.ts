import { isRecord } from "../../../src/values/json.ts";
import type { Random } from "../random.ts";
import type { Operation } from "./document.ts";
import { pick } from "./values.ts";

/** Tenants of a trial. `a` and `b` send requests; `c` has rows and sends none meanwhile. */
export type TenantName = "a" | "b" | "c";

/** Ids that belong together, by parameter name: those of a run have the id of its agent. */
export type IdTuple = Readonly<Record<string, string>>;

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Returns all UUIDs in a text. */
export function uuidsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(uuids));
}

/** Texts of a tenant: `marker`, its name, the seed and a count. Letters and digits, so that any name may have one. */
export function markersIn(text: string): readonly { tenant: TenantName; marker: string }[] {
  return [...text.matchAll(/marker([abc])[0-9a-z]+/gi)].map(([marker, tenant = ""]) => {
    return { marker, tenant: tenant.toLowerCase() as TenantName };
  });
}

const maxTuples = 1500;

/** What is known of the ids of tenants, from the answers that each got. */
export class Knowledge {
  readonly #owners = new Map<string, TenantName>();
  readonly #tuples: Record<TenantName, IdTuple[]> = { a: [], b: [], c: [] };
  readonly #adopted: Record<TenantName, Set<string>> = {
    a: new Set(),
    b: new Set(),
    c: new Set(),
  };
  /** Ids that are the same for all tenants. */
  readonly shared = new Set<string>();

  /** Takes an id for a tenant's, unless it is known already. */
  own(tenant: TenantName, id: string): void {
    if (!this.#owners.has(id) && !this.shared.has(id)) this.#owners.set(id, tenant);
  }

  /** Takes ids for both tenants': this one chose another's id for something of its own. */
  adopt(tenant: TenantName, text: string): void {
    for (const id of this.foreignIn(tenant, text)) this.#adopted[tenant].add(id);
  }

  /** Returns the ids in a text that another tenant got first. */
  foreignIn(tenant: TenantName, text: string): string[] {
    return [...uuidsIn(text)].filter((id) => {
      const owner = this.#owners.get(id);
      return owner !== undefined && owner !== tenant && !this.#adopted[tenant].has(id);
    });
  }

  ownerOf(id: string): TenantName | undefined {
    return this.#owners.get(id);
  }

  /** Learns ids from an answer with success: those of the thing itself, and those of each entry of its lists. */
  learn(
    tenant: TenantName,
    of: { readonly operation: Operation; readonly params: IdTuple; readonly sent: string },
    body: unknown,
  ): void {
    for (const id of uuidsIn(JSON.stringify(body) ?? ""))
      if (!of.sent.includes(id)) this.own(tenant, id);
    const tuples = tuplesIn(body, {
      kind: singular(lastWord(of.operation.path)),
      known: of.params,
      depth: 0,
    });
    const all = this.#tuples[tenant];
    all.push(...tuples);
    if (all.length > maxTuples) all.splice(0, all.length - maxTuples);
  }

  /** Returns ids of a tenant that go together, with as many of the names as a few draws find. */
  tuple(tenant: TenantName, names: readonly string[], random: Random): IdTuple {
    const all = this.#tuples[tenant];
    let best: IdTuple = {};
    let most = -1;
    for (let draw = 0; draw < 12 && all.length > 0 && most < names.length; draw += 1) {
      const tuple = pick(random, all);
      const found = names.filter((name) => name in tuple).length;
      if (found > most) [best, most] = [tuple, found];
    }
    return best;
  }

  /** Whether an id of a name is known. */
  has(tenant: TenantName, name: string): boolean {
    return this.#tuples[tenant].some((tuple) => name in tuple);
  }
}

/** Returns the names under which the ids for a path parameter may be known, best first. */
export function namesOf(path: string, parameter: string): readonly string[] {
  const parts = path.split("/");
  const before = parts[parts.indexOf(`{${parameter}}`) - 1] ?? "";
  return [parameter, `${parameter}_id`, `${singular(before)}_id`, `${singular(before)}_name`];
}

/** Returns the ids of a value and of what is in it, each with those of what it is in. */
function tuplesIn(
  value: unknown,
  of: { readonly kind: string; readonly known: IdTuple; readonly depth: number },
): IdTuple[] {
  const { kind, depth } = of;
  if (Array.isArray(value)) return value.slice(0, 5).flatMap((item: unknown) => tuplesIn(item, of));
  if (!isRecord(value) || depth > 4) return [];
  const ids = idsOf(value, kind);
  const known = { ...of.known, ...ids };
  const inner = Object.entries(value).flatMap(([key, one]) =>
    tuplesIn(one, { kind: singular(key), known, depth: depth + 1 }),
  );
  return Object.keys(ids).length > 0 || depth === 0 ? [known, ...inner] : inner;
}

function idsOf(value: Record<string, unknown>, kind: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner !== "string" || inner === "" || inner.length > 300) continue;
    if (key === "id") found[`${kind}_id`] = inner;
    else if (key === "name") found[`${kind}_name`] = inner;
    else if (/_id$|^version$|cursor$|thread|checkpoint/.test(key)) found[key] = inner;
  }
  return found;
}

function lastWord(path: string): string {
  return path.split("/").findLast((part) => !part.startsWith("{")) ?? "";
}

function singular(word: string): string {
  return word.replace(/ies$/, "y").replace(/s$/, "");
}
