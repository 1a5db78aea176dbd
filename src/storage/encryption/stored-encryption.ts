import { StratagraphError } from "../../errors.ts";
import type { Secrets } from "../../tools/secrets.ts";
import { parseEncryptionKeys } from "./encryption-keys.ts";
import {
  countSealed,
  type ResealCounts,
  type ResealOptions,
  resealTable,
  type SealedCount,
  type SealedTable,
} from "./reseal.ts";
import { createValueCipher, type ValueCipher } from "./value-cipher.ts";

/** The encryption of the stored values of a runtime. */
export interface StoredEncryption {
  /** Ids of the keys: the first seals. Empty if nothing is encrypted. */
  readonly keyIds: readonly string[];
  /** Counts stored values by table and key. Reads the beginning of every value. */
  readonly count: (scope?: EncryptionScope) => Promise<readonly SealedCount[]>;
  /**
   * Seals every stored value by the first key, those that are not sealed too, and returns counts by table. Runs may go on.
   * After an interruption a second call continues.
   *
   * @throws NoEncryptionKeyError, MissingEncryptionKeyError
   */
  readonly rotate: (options?: ResealOptions & EncryptionScope) => Promise<readonly ResealCounts[]>;
}

export interface EncryptionScope {
  /**
   * Whether values of all tenants are meant: of those in the table of tenants, and of the runtime's own. Default false:
   * those of the runtime's tenant.
   */
  readonly allTenants?: boolean;
}

/** A rotation needs a key to seal with. */
export class NoEncryptionKeyError extends StratagraphError {
  readonly code = "no_encryption_key";

  constructor() {
    super(
      "Expected an encryption key to seal stored values with, got none. " +
        "Set STRATAGRAPH_ENCRYPTION_KEYS to ID:KEY, the key as the base64 of 32 random bytes (openssl rand -base64 32).",
    );
  }
}

export interface EncryptionOptions {
  /**
   * `id:base64key[,id2:base64key2]`, in which `{{secret:NAME}}` stands for a secret. A key has 32 bytes. The first key
   * seals, and all of them open; an empty text has none.
   */
  readonly keys: string;
}

/**
 * Reads the keys, and makes the cipher of them.
 * @throws InvalidEncryptionKeyError, MissingSecretError
 */
export async function createEncryption({
  env,
  secrets,
  keys: given = env["STRATAGRAPH_ENCRYPTION_KEYS"] ?? "",
}: Partial<EncryptionOptions> & {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly secrets?: Pick<Secrets, "resolve">;
}): Promise<{
  /** What stores take: a cipher, or nothing without keys. */
  readonly sealing: { readonly cipher?: ValueCipher };
  /** `stores` returns those of the runtime's tenant, or those of all tenants. */
  readonly of: (stores: (allTenants: boolean) => AsyncIterable<SealingStore>) => StoredEncryption;
}> {
  const keys = parseEncryptionKeys((await secrets?.resolve(given)) ?? given);
  const cipher = createValueCipher(keys);
  const [first] = keys;
  return {
    sealing: first === undefined ? {} : { cipher },
    of: (storesOf) => ({
      keyIds: keys.map(({ id }) => id),
      async count({ allTenants = false } = {}) {
        const counts = new Map<string, SealedCount>();
        for await (const of of tablesOf(storesOf(allTenants))) {
          for (const found of await countSealed(of)) {
            const name = `${found.table} ${found.keyId ?? ""}`;
            const values = found.values + (counts.get(name)?.values ?? 0);
            counts.set(name, { ...found, values });
          }
        }
        return [...counts.values()];
      },
      async rotate({ allTenants = false, ...options } = {}) {
        if (first === undefined) throw new NoEncryptionKeyError();
        const counts = new Map<string, ResealCounts>();
        for await (const of of tablesOf(storesOf(allTenants))) {
          const done = await resealTable(of, { ...options, cipher, keyId: first.id });
          const before = counts.get(of.name);
          counts.set(of.name, {
            table: of.name,
            resealed: done.resealed + (before?.resealed ?? 0),
            passed: done.passed + (before?.passed ?? 0),
            damaged: done.damaged + (before?.damaged ?? 0),
          });
        }
        return [...counts.values()];
      },
    }),
  };
}

/** The tables of stores, one store after the other. */
async function* tablesOf(stores: AsyncIterable<SealingStore>): AsyncGenerator<SealedTable> {
  for await (const store of stores) yield* await store.sealedTables();
}

/** A store that seals values. */
export interface SealingStore {
  /** Its tables, which are made if need be. */
  sealedTables(): Promise<readonly SealedTable[]>;
}
