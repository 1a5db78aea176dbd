/** Parameters of the constructors of `@langchain/community` that take values one by one instead of an object. */
const positional: Readonly<Record<string, readonly string[]>> = {
  BingSerpAPI: ["apiKey", "params"],
  IFTTTWebhook: ["url", "name", "description"],
  SearchApi: ["apiKey", "params"],
  SerpAPI: ["apiKey", "params", "baseUrl"],
  Serper: ["apiKey", "params"],
};

/**
 * What a class is constructed with, of the options that a definition gives it.
 * @throws TypeError for an option that its constructor has no place for
 */
export function constructorArguments(
  className: string,
  options: Readonly<Record<string, unknown>>,
): readonly unknown[] {
  const names = Object.hasOwn(positional, className) ? positional[className] : undefined;
  if (names === undefined) return [options];
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return names.map((name) => options[name]);
  throw new TypeError(`${className} takes ${names.join(", ")}, and no "${unknown}"`);
}
