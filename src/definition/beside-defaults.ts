import { isRecord } from "../state/is-record.ts";

/** The part of a config that is not what it would be if nothing were written, maps in it likewise; null where that is nothing. */
export function besideDefaults<Config extends object>(
  config: Config,
  defaults: Config,
): DeepPartial<Config> | null {
  const own = Object.entries(config).flatMap(([key, value]: [string, unknown]) => {
    const usual: unknown = defaults[key as keyof Config];
    const part = isRecord(value) && isRecord(usual) ? besideDefaults(value, usual) : value;
    return value === undefined || value === usual || part === null ? [] : [[key, part] as const];
  });
  return own.length === 0 ? null : (Object.fromEntries(own) as DeepPartial<Config>);
}

type DeepPartial<Config> = {
  readonly [Key in keyof Config]?: Config[Key] extends Readonly<Record<string, number>>
    ? Partial<Config[Key]>
    : Config[Key];
};
