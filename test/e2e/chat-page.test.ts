import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Client } from "@langchain/langgraph-sdk";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createServer, type PlatformServer } from "../../src/create-server.ts";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { listenChecked } from "../helpers/api-server.ts";
import { chatPages, shows, useChatPages } from "../helpers/chat-page.ts";
import { useDatabase } from "../helpers/databases.ts";
import { type DevServer, startDevServer } from "../helpers/dev-server.ts";
import { openAIServer, Silence, type OpenAIServer } from "../helpers/openai-server.ts";

const calculates = { calls: [{ name: "calculator", args: { expression: "6 * 7" } }] };
const asked = "human: What is 6 * 7?";
const called = 'ai: calculator({"expression":"6 * 7"})';
const counted = `tool: {"result":42}`;

describe.skipIf(browserHere === null)(`A chat page${needsBrowser}`, () => {
  const database = useDatabase("pglite");
  const chats = useChatPages();
  let models: OpenAIServer;
  let dev: DevServer;
  let server: PlatformServer;
  let urls: Readonly<Record<string, string>>;

  beforeAll(async () => {
    models = await openAIServer();
    const env = { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: models.url };
    await rm("test/e2e/fixtures/chat/.langgraph_api", { recursive: true, force: true });
    dev = await startDevServer(env, "test/e2e/fixtures/chat/langgraph.json");
    server = await createServer({
      database: database.shared,
      development: true,
      corsOrigins: [chats.origin()],
      env,
    });
    const { send, listening } = await listenChecked(server);
    const body: unknown = parse(readFileSync("test/e2e/fixtures/chat/desk.yaml", "utf8"));
    await send("POST", "/v1/agents", { body });
    urls = { "stratagraph serve": listening.url, "langgraph dev": dev.url };
  });
  afterAll(async () => {
    await server?.close(0);
    await dev?.stop();
    await models?.close();
  });

  const hooks = Object.keys(chatPages) as (keyof typeof chatPages)[];
  const cases = hooks.flatMap((hook) =>
    ["stratagraph serve", "langgraph dev"].map((name) => [hook, name] as const),
  );

  describe.each(cases)("with useStream of %s on %s", (hook, name) => {
    const open = () => {
      models.forget();
      return chats.open(hook, urls[name] ?? "");
    };

    it("streams tokens, asks for an approval, continues with it and shows all of it again", async () => {
      await using chat = await open();
      const silent = new Silence();
      models.answer({ ...calculates, text: "I calculate it." }, { silent, first: "The result" });
      await chat.say("What is 6 * 7?");
      expect(await chat.request()).toMatch(/calculator/);
      const before = [asked, `ai: I calculate it. ${called.slice(4)}`];
      await shows(chat, ...before);
      await chat.press("Approve");
      await shows(chat, ...before, counted, "ai: The result");
      silent.release(" is 42.");
      await shows(chat, ...before, counted, "ai: The result is 42.");
      await chat.rests();
      await chat.page.reload();
      await shows(chat, ...before, counted, "ai: The result is 42.");
      expect(chat.complaints).toEqual([]);
    });

    it("shows a request again after a reload, and takes a rejection", async () => {
      await using chat = await open();
      models.answer(calculates, { text: "I was not allowed to." });
      await chat.say("What is 6 * 7?");
      await chat.request();
      await chat.page.reload();
      expect(await chat.request()).toMatch(/calculator/);
      await chat.press("Reject");
      await expect.poll(() => chat.transcript()).toContain("ai: I was not allowed to.");
      await chat.rests();
      expect(chat.complaints).toEqual([]);
    });

    it("joins a run under way after a reload", async () => {
      await using chat = await open();
      const silent = new Silence();
      models.answer({ silent, first: "Once" });
      await chat.say("Tell me a story");
      await shows(chat, "human: Tell me a story", "ai: Once");
      await chat.page.reload();
      await shows(chat, "human: Tell me a story", "ai: Once");
      silent.release(" there was.");
      await shows(chat, "human: Tell me a story", "ai: Once there was.");
      await chat.rests();
      expect(chat.complaints).toEqual([]);
    });

    it("stops a run", async () => {
      await using chat = await open();
      const silent = new Silence();
      models.answer({ silent, first: "Once" });
      await chat.say("Tell me a story");
      await shows(chat, "human: Tell me a story", "ai: Once");
      await chat.press("Stop");
      await silent.aborted;
      await chat.rests();
      await expect.poll(() => runsOf(chat)).toEqual(["interrupted"]);
      models.answer({ text: "Again." });
      await chat.say("Another one");
      // On `langgraph dev` the turn that was stopped is not over.
      const isDev = name === "langgraph dev";
      const place = chat.page.getByRole(isDev ? "alert" : "listitem");
      await expect
        .poll(async () => (await place.allTextContents()).join("\n"))
        .toMatch(isDev ? /unfinished turn/ : /Again\./);
    });

    // The other hook forks from the newest checkpoint that has the message, here and on langgraph dev.
    it.skipIf(hook === "@langchain/react")("edits a message, and shows both versions", async () => {
      await using chat = await open();
      models.answer({ text: "One." }, { text: "Two." }, { text: "Three." });
      await chat.say("First");
      await shows(chat, "human: First", "ai: One.");
      await chat.rests();
      await chat.say("Second");
      await shows(chat, "human: First", "ai: One.", "human: Second", "ai: Two.");
      await chat.rests();
      await chat.press("Edit", 1);
      await chat.say("Third");
      await shows(chat, "human: First", "ai: One.", "human: Third", "ai: Three.");
      await chat.press("Version 2 of 2");
      await shows(chat, "human: First", "ai: One.", "human: Second", "ai: Two.");
      await chat.page.reload();
      await shows(chat, "human: First", "ai: One.", "human: Third", "ai: Three.");
      expect(chat.complaints).toEqual([]);
    });

    async function runsOf({ api, page }: { readonly api: string; readonly page: Page }) {
      const thread = new URL(page.url()).searchParams.get("thread") ?? "";
      const client = new Client({ apiUrl: api, apiKey: null });
      return (await client.runs.list(thread)).map(({ status }) => status);
    }
  });
});
