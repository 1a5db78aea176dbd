// @ts-check

/**
 * Runs inside the sandbox, by its source text, before any code of others: whatever that code does to the globals
 * afterwards, what is used here was taken before. It makes the `console` and gives the functions by which a run is
 * driven. It has to contain everything it uses.
 *
 * @param {{ maxLines: number, maxLine: number }} limits of the console: lines, and characters of one
 */
export function prelude({ maxLines, maxLine }) {
  const { parse, stringify } = JSON;
  const toText = String;
  const TypeFault = TypeError;
  /** @type {(text: string, from: number, to: number) => string} */
  // oxlint-disable-next-line typescript/unbound-method -- bound to be called with a text
  const slice = Function.prototype.call.bind(String.prototype.slice);
  /** @type {"code" | "output"} */
  let stage = "code";
  let logs = "";
  let logged = 0;

  /**
   * A thrown value as JSON of texts; never throws on its own account, though getters may run out of time.
   * @param {any} thrown
   */
  function describe(thrown) {
    let name = "";
    let message = "";
    let stack = "";
    try {
      if (typeof thrown === "object" && thrown !== null) {
        if (typeof thrown.name === "string") name = slice(thrown.name, 0, 100);
        if (typeof thrown.stack === "string") stack = slice(thrown.stack, 0, 2000);
        message = typeof thrown.message === "string" ? thrown.message : (stringify(thrown) ?? "");
      } else {
        message = toText(thrown);
      }
    } catch {
      message = "";
    }
    if (message === "") message = `a value of type ${typeof thrown} without a message`;
    return `{"name":${stringify(name)},"message":${stringify(slice(message, 0, 4000))},"stack":${stringify(stack)}}`;
  }

  /** @param {any} value */
  function show(value) {
    if (typeof value === "string") return value;
    try {
      if (typeof value !== "object" || value === null) return toText(value);
      if (typeof value.message === "string") return `${toText(value.name)}: ${value.message}`;
      return stringify(value) ?? "[object]";
    } catch {
      return "[unreadable]";
    }
  }

  /** @param {any[]} values */
  function log(...values) {
    logged += 1;
    if (logged > maxLines) return;
    let line = "";
    for (let at = 0; at < values.length; at += 1) line += (at > 0 ? " " : "") + show(values[at]);
    if (line.length > maxLine) line = `${slice(line, 0, maxLine)}…`;
    logs += (logs === "" ? "" : ",") + stringify(line);
  }

  Object.defineProperty(globalThis, "console", {
    value: { log, info: log, debug: log, warn: log, error: log },
    writable: true,
    configurable: true,
  });

  return {
    /** @param {(input: any) => any} code @param {string} input */
    async run(code, input) {
      const value = await code(parse(input));
      stage = "output";
      if (value === undefined) return "null";
      const json = stringify(value);
      if (json === undefined) throw new TypeFault(`it is a ${typeof value}`);
      return json;
    },
    describe,
    stage: () => stage,
    logs: () => {
      const more = logged > maxLines ? `,"… ${logged - maxLines} more lines"` : "";
      return `[${logs}${more}]`;
    },
  };
}
