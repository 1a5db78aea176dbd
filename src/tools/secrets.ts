import { replaceSecrets, findSecretNames } from "../definition/schema/servers.ts";
import type { Awaitable } from "../state/tiers.ts";
import { MissingSecretError } from "./missing-secret-error.ts";

/** Opens everything that is stored, and is no secret of an agent. */
const withheld: ReadonlySet<string> = new Set(["STRATAGRAPH_ENCRYPTION_KEYS"]);

/** Environment variables as secrets, each under its own name; the encryption keys of stored values are none. */
export function environmentSecrets(
  env: Readonly<Record<string, string | undefined>>,
): SecretSource {
  return {
    get: (name) => (Object.hasOwn(env, name) && !withheld.has(name) ? env[name] : undefined),
  };
}

/** Where secrets come from: a vault, or by default the environment. */
export interface SecretSource {
  /** Undefined where there is none of that name. Asked each time a secret is used. */
  get(name: string): Awaitable<string | undefined>;
}

/** Secrets by reference, and a way to take their values out of what comes back. */
export interface Secrets {
  /** @throws MissingSecretError */
  get(name: string): Promise<string>;
  /**
   * A text with its references `{{secret:NAME}}` replaced.
   * @throws MissingSecretError
   */
  resolve(text: string): Promise<string>;
  /** Whether there is a secret of that name; its value is not kept. */
  has(name: string): Promise<boolean>;
  /** Whether any value was given out, so that there is something to take out. */
  hasRevealed(): boolean;
  /** The text with every value that was ever given out replaced by its reference, also where it is encoded. */
  scrub(text: string): string;
  /** The same for all texts of a value, keys too; the value itself where nothing was found. */
  scrubValue<T>(value: T): T;
}

/** Shorter values are not looked for: they stand everywhere by chance. */
const shortestScrubbed = 4;

export function createSecrets(source: SecretSource): Secrets {
  /** By each form of a value, the reference that stands for it. */
  const references = new Map<string, string>();
  /** All forms at once, so that nothing is looked for in what was put in; longest first, since one may contain another. */
  let anyForm: RegExp | undefined;
  const known = new Set<string>();

  const remember = (name: string, value: string) => {
    const key = `${name}\0${value}`;
    if (value.length < shortestScrubbed || known.has(key)) return;
    known.add(key);
    // Clients trim what they send: a secret that was read from a file often ends with a new line.
    const forms = [value, value.trim()].flatMap(formsOf);
    for (const form of forms) references.set(form, `{{secret:${name}}}`);
    const longestFirst = [...references.keys()].toSorted((a, b) => b.length - a.length);
    anyForm = new RegExp(longestFirst.map(literal).join("|"), "g");
  };
  const get = async (name: string): Promise<string> => {
    const value = await source.get(name);
    if (value === undefined || value === "") throw new MissingSecretError(name);
    remember(name, value);
    return value;
  };
  const scrub = (text: string): string =>
    anyForm === undefined
      ? text
      : text.replace(anyForm, (form) => references.get(form) ?? "[secret]");

  return {
    get,
    async resolve(text) {
      const names = findSecretNames(text);
      if (names.length === 0) return text;
      const values = new Map(
        await Promise.all(names.map(async (name) => [name, await get(name)] as const)),
      );
      return replaceSecrets(text, (name) => values.get(name) ?? "");
    },
    async has(name) {
      const value = await source.get(name);
      return value !== undefined && value !== "";
    },
    hasRevealed: () => anyForm !== undefined,
    scrub,
    scrubValue: (value) => (anyForm === undefined ? value : scrubValue(value, scrub)),
  };
}

/** As it is, as JSON has it, as a URL has it, and in base64, whose first characters depend on what stands before. */
function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const encoded = [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    // Characters that hold bits of what stands before or after are left out.
    const from = offset === 0 ? 0 : offset + 1;
    const to = Math.floor(((offset + bytes.length) * 8) / 6);
    return [
      padded.slice(from, to),
      padded.slice(from, to).replaceAll("+", "-").replaceAll("/", "_"),
    ];
  });
  const hex = bytes.toString("hex");
  const urlForms = [
    // Half a character becomes what stands for it, as elsewhere.
    encodeURIComponent(bytes.toString()),
    new URLSearchParams({ a: value }).toString().slice(2),
  ];
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    ...urlForms.flatMap((form) => [form, lowerEscapes(form)]),
    ...(bytes.length >= 6 ? [...encoded, hex, hex.toUpperCase()] : []),
  ];
  return [...new Set(forms)].filter((form) => form.length >= shortestScrubbed);
}

function lowerEscapes(form: string): string {
  return form.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

function literal(form: string): string {
  return form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

function scrubValue<T>(value: T, scrub: (text: string) => string): T {
  if (typeof value === "string") return scrub(value) as T;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => scrubValue(item, scrub));
    return items.some((item, at) => item !== value[at]) ? (items as T) : value;
  }
  let isSame = true;
  const entries = Object.entries(value).map(([key, item]) => {
    const entry = [scrub(key), scrubValue(item as unknown, scrub)] as const;
    isSame &&= entry[0] === key && entry[1] === item;
    return entry;
  });
  return isSame ? value : (Object.fromEntries(entries) as T);
}
