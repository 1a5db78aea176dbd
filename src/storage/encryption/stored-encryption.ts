import { StratagraphError } from "../../errors.ts";
import type { Secrets } from "../../tools/secrets.ts";
import type { DatabasePool } from "../pool.ts";
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
  readonly count: () => Promise<readonly SealedCount[]>;
  /**
   * Seals every stored value by the first key, those that are not sealed too, and returns counts by table. Runs may go on.
   * After an interruption a second call continues.
   *
   * @throws NoEncryptionKeyError, MissingEncryptionKeyError
   */
  readonly rotate: (options?: ResealOptions) => Promise<readonly ResealCounts[]>;
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
  readonly of: (pool: DatabasePool, stores: readonly SealingStore[]) => StoredEncryption;
}> {
  const keys = parseEncryptionKeys((await secrets?.resolve(given)) ?? given);
  const cipher = createValueCipher(keys);
  const [first] = keys;
  return {
    sealing: first === undefined ? {} : { cipher },
    of: (pool, stores) => {
      const tables = async () =>
        (await Promise.all(stores.map((one) => one.sealedTables()))).flat();
      return {
        keyIds: keys.map(({ id }) => id),
        async count() {
          const counts: SealedCount[] = [];
          for (const table of await tables()) counts.push(...(await countSealed(pool, table)));
          return counts;
        },
        async rotate(options = {}) {
          if (first === undefined) throw new NoEncryptionKeyError();
          const counts: ResealCounts[] = [];
          for (const table of await tables()) {
            counts.push(await resealTable(pool, table, { ...options, cipher, keyId: first.id }));
          }
          return counts;
        },
      };
    },
  };
}

/** A store that seals values. */
interface SealingStore {
  /** Its tables, which are made if need be. */
  sealedTables(): Promise<readonly SealedTable[]>;
}
