import { createInterface } from "node:readline";
import type { LinePrompt } from "./io.ts";

/** Reads lines with Node's line editor. Lines that are typed or pasted ahead wait for the next question. */
export function openTerminalPrompt(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): LinePrompt {
  const editor = createInterface({ input, output, terminal: true, historySize: 0 });
  const ahead: string[] = [];
  let left = false;
  let give: ((line: string | null) => void) | null = null;
  const end = () => {
    left = true;
    give?.(null);
  };
  editor.on("line", (line) => {
    if (give === null) ahead.push(line);
    else give(line);
  });
  // In raw mode Ctrl-C is a key and no signal.
  editor.on("SIGINT", end).on("close", end);
  return {
    line(text, { signal, prefilled = "" }) {
      const typed = ahead.shift();
      if (typed !== undefined) {
        output.write(`${text}${typed}\n`);
        return Promise.resolve(typed);
      }
      if (left || signal.aborted) return Promise.resolve(null);
      return new Promise((resolve) => {
        const abandon = () => give?.(null);
        signal.addEventListener("abort", abandon, { once: true });
        give = (line) => {
          give = null;
          signal.removeEventListener("abort", abandon);
          if (line === null) output.write("\n");
          resolve(line);
        };
        editor.setPrompt(text);
        editor.prompt();
        if (prefilled !== "") editor.write(prefilled);
      });
    },
    close() {
      give?.(null);
      editor.close();
    },
  };
}
