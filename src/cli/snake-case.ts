/** `threadId` as `thread_id`, as JSON documents of the command line say it. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** An object with its keys in snake_case. What its values hold stays as it is. */
export function snakeKeys(object: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [snakeCase(key), value]));
}
