import { readFile } from "node:fs/promises";
import { build } from "esbuild";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { browserHere } from "../cli/draw/browser.ts";
import { httpServer } from "./http-server.ts";

/** Pages of a chat by the hook that they use. */
export const chatPages = {
  "@langchain/langgraph-sdk/react": "examples/chat-page/page.jsx",
  "@langchain/react": "test/e2e/fixtures/chat/events-page.jsx",
} as const;

/** A request that a page has sent to the API. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** Serves pages of a chat on loopback, and opens them in the browser that is here as long as the test file runs. */
export function useChatPages() {
  let browser: Browser;
  let host = "";
  beforeAll(async () => {
    const [shell, ...modules] = await Promise.all([
      readFile("examples/chat-page/index.html", "utf8"),
      ...Object.values(chatPages).map(bundledPage),
    ]);
    const names = Object.keys(chatPages);
    host = await httpServer((request, response) => {
      const path = (request.url ?? "").replace(/\?.*/, "");
      const at = names.findIndex((name) => path.startsWith(`/${name}/`));
      const isModule = path.endsWith("/page.js");
      response.writeHead(at < 0 ? 404 : 200, {
        "content-type": isModule ? "text/javascript" : "text/html",
      });
      response.end(at < 0 ? "" : isModule ? modules[at] : shell);
    });
    browser = await chromium.launch({
      executablePath: browserHere ?? "",
      args: ["--headless", "--no-sandbox", "--disable-gpu"],
    });
  });
  afterAll(() => browser.close());

  return {
    origin: () => `http://${host}`,
    /** Opens a page in a browser context of its own. Close the chat at the end of the test. */
    async open(hook: keyof typeof chatPages, api: string, key?: string) {
      const context = await browser.newContext();
      if (key !== undefined)
        await context.addInitScript(`sessionStorage.setItem("api-key", ${JSON.stringify(key)})`);
      const page = await context.newPage();
      await page.goto(`http://${host}/${hook}/?agent=desk&api=${encodeURIComponent(api)}`);
      return new Chat(page, api);
    },
  };
}

async function bundledPage(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    platform: "browser",
    logLevel: "error",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles[0]?.text ?? "";
}

/** Waits until a chat shows these messages. */
export async function shows(chat: Chat, ...messages: readonly string[]): Promise<void> {
  await expect.poll(() => chat.transcript()).toEqual(messages);
}

/** A chat as a person sees and uses it. */
class Chat implements AsyncDisposable {
  readonly requests: SentRequest[] = [];
  readonly complaints: string[] = [];

  constructor(
    readonly page: Page,
    readonly api: string,
  ) {
    page.setDefaultTimeout(60_000);
    page.on("request", (request) => {
      if (!request.url().startsWith(api) || request.method() === "OPTIONS") return;
      const body: unknown = JSON.parse(request.postData() ?? "null");
      this.requests.push({ method: request.method(), path: request.url().slice(api.length), body });
    });
    page.on("console", (told) => {
      if (["error", "warning"].includes(told.type())) this.complaints.push(told.text());
    });
    page.on("pageerror", (error) => this.complaints.push(error.message));
  }

  async say(text: string): Promise<void> {
    await this.page.getByPlaceholder("Message").fill(text);
    await this.press("Send");
  }

  async press(name: string | RegExp, at = 0): Promise<void> {
    await this.page.getByRole("button", { name }).nth(at).click();
  }

  /** The messages as `type: text`, with the calls of tools. */
  transcript(): Promise<readonly string[]> {
    return this.page.locator("li").evaluateAll((all) =>
      all.map((one) => {
        const texts = [...one.querySelectorAll("span, code")].map((part) => part.textContent);
        return `${one.className}: ${texts.filter(Boolean).join(" ")}`;
      }),
    );
  }

  /** Waits until nothing runs. */
  async rests(): Promise<void> {
    await this.page.getByRole("button", { name: "Send" }).waitFor();
  }

  /** What waits for an answer; waits until it is shown. */
  async request(): Promise<string | null> {
    return this.page.locator("section p").textContent();
  }

  async error(): Promise<string | null> {
    return this.page.getByRole("alert").textContent();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
