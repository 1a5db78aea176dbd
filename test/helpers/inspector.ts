import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { createServer, type PlatformServer, type ServerOptions } from "../../src/create-server.ts";
import { browserHere } from "../cli/draw/browser.ts";
import { useDatabase } from "./databases.ts";
import { openAIServer, type OpenAIServer } from "./openai-server.ts";

/** The browser's flags for a page on this machine: it looks for nothing on any network. */
const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "light" | "dark";
  /** API key of the tab. */
  readonly key?: string;
}

/** A development server with scripted models, and a browser, as long as the test file runs. */
export interface Inspected {
  readonly server: PlatformServer;
  readonly url: string;
  /** Answers of the model `openai:test`, which is the default. */
  readonly models: OpenAIServer;
  /** Stores an agent, and returns its id. */
  addAgent(definition: object): Promise<string>;
  /** Sends a request to the API, and returns the body of its answer. */
  readonly send: <Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<Body>;
  /** Opens a path of the page, such as `threads`, in a browser context of its own. */
  open(path: string, options?: OpenOptions): Promise<InspectorTab>;
}

/** Call at the top of a test file, in a `describe.skipIf(browserHere === null)`. */
export function useInspector(options: Partial<ServerOptions> = {}): Inspected {
  const database = useDatabase("pglite");
  let browser: Browser;
  let models: OpenAIServer;
  let server: PlatformServer;
  let url = "";
  beforeAll(async () => {
    models = await openAIServer();
    server = await createServer({
      database: database.shared,
      development: true,
      env: { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: models.url },
      runtime: { defaultModel: "openai:test" },
      // The tests of a file send more requests than a person, all under one key.
      rates: { perKey: null },
      ...options,
    });
    ({ url } = await server.listen({ port: 0 }));
    browser = await chromium.launch({ executablePath: browserHere ?? "", args: flags });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close(0);
    await models?.close();
  });
  const send = async <Body>(method: string, path: string, body?: unknown): Promise<Body> => {
    const response = await fetch(`${url}${path}`, {
      method,
      ...(body !== undefined && {
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Body;
  };
  return {
    get server() {
      return server;
    },
    get url() {
      return url;
    },
    get models() {
      return models;
    },
    send,
    async addAgent(definition) {
      const { id } = await send<{ id: string }>("POST", "/v1/agents", definition);
      return id;
    },
    async open(path, { width = 1280, height = 800, theme = "light", key } = {}) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        reducedMotion: "reduce",
      });
      if (key !== undefined)
        await context.addInitScript(
          `sessionStorage.setItem("stratagraph-api-key", ${JSON.stringify(key)})`,
        );
      const tab = new InspectorTab(await context.newPage(), url);
      await tab.page.goto(`${url}/inspector/${path}`);
      return tab;
    },
  };
}

/** A tab of the browser with the page in it. */
export class InspectorTab implements AsyncDisposable {
  /** Errors and warnings of the console, breaches of the policy included, and uncaught errors. */
  readonly complaints: string[] = [];
  /** Addresses outside the server that the page has asked for. */
  readonly foreign: string[] = [];

  constructor(
    readonly page: Page,
    readonly url: string,
  ) {
    page.setDefaultTimeout(60_000);
    page.on("request", (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(url))
        this.foreign.push(request.url());
    });
    page.on("console", (told) => {
      if (["error", "warning"].includes(told.type())) this.complaints.push(told.text());
    });
    page.on("pageerror", (error) => this.complaints.push(error.message));
  }

  /**
   * The page had no errors, and asked nothing outside of its server.
   *
   * @param of.refused statuses of answers that the test expects; the browser reports each
   */
  expectClean({ refused = [] }: { readonly refused?: readonly number[] } = {}): void {
    const complaints = this.complaints.filter(
      (text) => !refused.some((status) => text.includes(`responded with a status of ${status} `)),
    );
    // oxlint-disable-next-line vitest/no-standalone-expect -- called by tests.
    expect({ complaints, foreign: this.foreign }).toEqual({
      complaints: [],
      foreign: [],
    });
  }

  /** What axe finds against WCAG 2.2 AA and good practice, as `rule: element` lines. */
  async axe(): Promise<readonly string[]> {
    await this.page.evaluate(axe.source);
    return this.page.evaluate(async () => {
      const { axe: inPage } = globalThis as unknown as {
        axe: {
          run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
        };
      };
      const { violations } = await inPage.run();
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A request that a test intercepts may be under way, and would be an unhandled error.
    await this.page.unrouteAll({ behavior: "ignoreErrors" });
    await this.page.context().close();
  }
}
