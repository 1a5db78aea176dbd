const reference = /\{\{\s*secret:\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** The names of secrets that a text refers to as `{{secret:NAME}}`, each once, in order. */
export function secretsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(reference)].map(([, name]) => name as string))];
}

/** The text with every reference replaced. */
export function replaceSecrets(text: string, valueOf: (name: string) => string): string {
  return text.replace(reference, (_whole, name: string) => valueOf(name));
}

/** Whether something in the text looks like a reference and is none. */
export function hasBrokenReference(text: string): boolean {
  return /\{\{\s*secret/i.test(text.replace(reference, ""));
}
