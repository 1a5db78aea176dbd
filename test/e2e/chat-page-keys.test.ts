import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { chatPages, shows, useChatPages } from "../helpers/chat-page.ts";
import { useDatabase } from "../helpers/databases.ts";
import { useRunServers } from "../helpers/run-server.ts";

const needed = ["runs:write", "runs:read", "checkpoints:read", "requests:answer"];

describe.skipIf(browserHere === null)(`A chat page and a server with keys${needsBrowser}`, () => {
  const database = useDatabase("pglite");
  const start = useRunServers(database);
  const chats = useChatPages();
  const transcript = ["human: Hello", "ai: Hello to you."];

  /** Starts a server with an agent, and returns its address and a key that has what a chat needs. */
  async function started(corsOrigins: readonly string[]) {
    const server = await start(["Hello to you."], { corsOrigins });
    await server.agent({ name: "desk" });
    const { key } = await server.join(needed, server.tenantId);
    return { url: `http://127.0.0.1:${server.port}`, key };
  }

  describe.each(Object.keys(chatPages) as (keyof typeof chatPages)[])("useStream of %s", (hook) => {
    it("works from a listed origin with the key", async () => {
      const { url, key } = await started([chats.origin()]);
      await using chat = await chats.open(hook, url, key);
      await chat.say("Hello");
      await shows(chat, ...transcript);
      await chat.rests();
      await chat.page.reload();
      await shows(chat, ...transcript);
      expect(chat.complaints).toEqual([]);
    });

    it("shows that the key is missing", async () => {
      const { url } = await started([chats.origin()]);
      await using chat = await chats.open(hook, url);
      await chat.say("Hello");
      expect(await chat.error()).toMatch(/401|key/i);
    });
  });

  it("is refused from an origin that is not listed", async () => {
    const { url, key } = await started(["http://127.0.0.1:1"]);
    await using chat = await chats.open("@langchain/langgraph-sdk/react", url, key);
    await chat.say("Hello");
    expect(await chat.error()).toMatch(/fetch/i);
    expect(chat.complaints.join()).toMatch(/CORS/);
  });
});
