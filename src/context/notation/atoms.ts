const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Signs of the notation, white space other than a space, controls, and halves of surrogate pairs. */
const special = /[,;{}[\]"]|[^\S ]|\p{Cc}|\p{Cs}/u;
/** Most strings: they need no closer look. */
const ordinary = /^[\w.:@/+#-](?:[\w .:@/+#-]*[\w.:@/+#-])?$/;
const specialInKey = /[:=*]/;

/** A string bare where it can be read as nothing else, otherwise as JSON; what is no string as JSON. */
export function atomText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  return isBare(value) && !jsonNumber.test(value) && !/^(?:true|false|null)$/.test(value)
    ? value
    : JSON.stringify(value);
}

/** Keys are always strings, so that those which look like a number stay bare. */
export function keyText(key: string): string {
  return isBare(key) && !specialInKey.test(key) ? key : JSON.stringify(key);
}

function isBare(text: string): boolean {
  if (ordinary.test(text)) return true;
  return text !== "" && !text.startsWith(" ") && !text.endsWith(" ") && !special.test(text);
}
