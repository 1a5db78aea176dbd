import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { openTerminalPrompt } from "../../src/cli/process-io.ts";

function open() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const prompt = openTerminalPrompt(input, output);
  const never = new AbortController().signal;
  return {
    input,
    prompt,
    ask: (prefilled = "") => prompt.line("> ", { signal: never, prefilled }),
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
});
