import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { openTerminalPrompt } from "../../src/cli/process-io.ts";

function open(options: Parameters<typeof openTerminalPrompt>[2] = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const prompt = openTerminalPrompt(input, output, options);
  const never = new AbortController().signal;
  return {
    input,
    output,
    prompt,
    ask: (prefilled = "") => prompt.line("> ", { signal: never, prefilled }),
    askPasted: (signal = never) => prompt.line("> ", { signal, joinsPasted: true }),
  };
}

describe("a prompt on a terminal", () => {
  it("gives the lines that are typed, also ahead", async () => {
    const { input, ask, prompt } = open();
    const first = ask();
    input.write("one\rtwo\r");
    expect(await first).toBe("one");
    expect(await ask()).toBe("two");
    prompt.close();
  });

  it("lets what is there be edited", async () => {
    const { input, ask, prompt } = open();
    const line = ask("hullo");
    input.write("\u007F\u007F\u007F\u007Fello\r");
    expect(await line).toBe("hello");
    prompt.close();
  });

  it.each([
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
  ])("is left by %s, for all further questions too", async (_name, key) => {
    const { input, ask, prompt } = open();
    const line = ask();
    input.write(key);
    expect(await line).toBeNull();
    expect(await ask()).toBeNull();
    prompt.close();
  });

  it("abandons a question when told to, and can ask another", async () => {
    const { input, ask, prompt } = open();
    const abort = new AbortController();
    const line = prompt.line("> ", { signal: abort.signal });
    abort.abort();
    expect(await line).toBeNull();
    const next = ask();
    input.write("yes\r");
    expect(await next).toBe("yes");
    prompt.close();
  });

  it("joins lines that are pasted together, and waits for the end of the last one", async () => {
    const { input, askPasted, prompt } = open();
    const pasted = askPasted();
    input.write("one\rtwo\rthr");
    input.write("ee\r");
    expect(await pasted).toBe("one\ntwo\nthree");
    const typed = askPasted();
    input.write("four\r");
    expect(await typed).toBe("four");
    prompt.close();
  });

  it("gives nothing of a pasted text that is left before its end", async () => {
    const { input, output, askPasted, prompt } = open();
    const abort = new AbortController();
    const line = askPasted(abort.signal);
    output.on("data", (echo: Buffer) => {
      if (echo.includes("r")) abort.abort();
    });
    input.write("one\rtwo\rthr");
    expect(await line).toBeNull();
    prompt.close();
  });

  it("calls up earlier lines with the arrow keys", async () => {
    const { input, ask, prompt } = open({ history: ["second", "first"] });
    const line = ask();
    input.write("\u001B[A\u001B[A\r");
    expect(await line).toBe("first");
    prompt.close();
  });
});
