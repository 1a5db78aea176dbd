import { createRequire } from "node:module";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { errorMessage } from "../../errors.ts";
import { withoutStandIns } from "../../compile/mermaid-text.ts";
import { DrawingFailedError, MissingDrawingPackageError } from "./find-browser.ts";

export interface PictureOptions {
  readonly format: "svg" | "png";
  /** Path of the browser. */
  readonly browser: string;
}

/**
 * Draws Mermaid text, escaped with `asStandIn`, in a browser that sees no network and keeps nothing.
 * @throws MissingDrawingPackageError, DrawingFailedError
 */
export async function renderPicture(mermaid: string, options: PictureOptions): Promise<Uint8Array> {
  const script = mermaidScript();
  const { chromium } = await loadPlaywright();
  let browser: Browser | undefined;
  try {
    // With an empty folder of its own for its user's data, which goes with it.
    browser = await chromium.launch({ executablePath: options.browser, args: flags });
    const svg = await drawSvg(browser, script, mermaid);
    return options.format === "png" ? await photograph(browser, svg) : Buffer.from(`${svg}\n`);
  } catch (cause) {
    throw new DrawingFailedError(options.browser, { cause });
  } finally {
    await browser?.close();
  }
}

/** Only our own text and Mermaid's script come in, and containers seldom let a browser make a sandbox. */
const flags: string[] = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Drawn as text, not as HTML inside, so that every program that shows SVG shows it. */
const mermaidConfig = {
  startOnLoad: false,
  securityLevel: "strict",
  // The same graph gives the same picture: some shapes are drawn with random numbers.
  handDrawnSeed: 1,
  // Plans may have thousands of subtasks.
  maxTextSize: 5_000_000,
  maxEdges: 100_000,
  htmlLabels: false,
  theme: "base",
  themeVariables: {
    fontFamily:
      "Inter, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif",
    fontSize: "14px",
    lineColor: "#64748b",
    edgeLabelBackground: "#ffffff",
    tertiaryTextColor: "#334155",
  },
  flowchart: {
    htmlLabels: false,
    curve: "basis",
    nodeSpacing: 96,
    rankSpacing: 52,
    padding: 12,
    wrappingWidth: 220,
    subGraphTitleMargin: { top: 6, bottom: 10 },
  },
  themeCSS: `
    .edgeLabel text { paint-order: stroke; stroke: #ffffff; stroke-width: 6px; stroke-linejoin: round; fill: #475569; font-size: 13px }
    .edgeLabel .background { display: none }`,
} as const;

async function drawSvg(browser: Browser, script: string, mermaid: string): Promise<string> {
  const page = await offlinePage(browser, 1);
  await page.addScriptTag({ path: script });
  const drawn = await page.evaluate(drawInPage, { mermaid, config: mermaidConfig });
  await page.context().close();
  return withoutStandIns(withShortNumbers(drawn));
}

/** Mermaid writes coordinates with 15 places. In texts there are no quotes yet, so that nothing is taken for one. */
function withShortNumbers(svg: string): string {
  return svg.replaceAll(/ (?:d|points)="[^"]*"/g, (path) =>
    path.replaceAll(/\d+\.\d{3,}(?:e-\d+)?/g, (number) =>
      String(Number(Number(number).toFixed(2))),
    ),
  );
}

interface Mermaid {
  initialize(config: unknown): void;
  render(id: string, text: string): Promise<{ svg: string }>;
}

/** Runs in the page. */
async function drawInPage(given: { mermaid: string; config: unknown }): Promise<string> {
  const { mermaid } = globalThis as unknown as { mermaid: Mermaid };
  mermaid.initialize(given.config);
  const { svg } = await mermaid.render("graph", given.mermaid);
  return svg;
}

/** Pixels of the picture for one of the drawing's, where the picture does not become larger than a browser can draw. */
const sharpness = 2;
const longestSide = 16_000;
const margin = 24;

async function photograph(browser: Browser, svg: string): Promise<Uint8Array> {
  const [, , width = 0, height = 0] = (/viewBox="([^"]*)"/.exec(svg)?.[1] ?? "")
    .split(" ")
    .map(Number);
  const size = { width: Math.ceil(width) + 2 * margin, height: Math.ceil(height) + 2 * margin };
  const scale = Math.min(sharpness, longestSide / Math.max(size.width, size.height));
  const page = await offlinePage(browser, scale);
  await page.setViewportSize(size);
  await page.setContent(
    `<style>body { margin: ${margin}px; background: #ffffff } svg { display: block; width: ${width}px; height: ${height}px }</style>${svg}`,
  );
  const picture = await page.screenshot({ clip: { x: 0, y: 0, ...size } });
  await page.context().close();
  return picture;
}

async function offlinePage(browser: Browser, deviceScaleFactor: number): Promise<Page> {
  const context: BrowserContext = await browser.newContext({ deviceScaleFactor, offline: true });
  await context.route("**/*", (route) => route.abort());
  return context.newPage();
}

async function loadPlaywright(): Promise<typeof import("playwright-core")> {
  try {
    return await import("playwright-core");
  } catch (cause) {
    throw missing("playwright-core", cause);
  }
}

const require = createRequire(import.meta.url);

/** Path of Mermaid's script, which holds all it needs. */
function mermaidScript(): string {
  try {
    return require.resolve("@mermaid-js/tiny/dist/mermaid.tiny.js");
  } catch (cause) {
    throw missing("@mermaid-js/tiny", cause);
  }
}

function missing(packageName: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  return isMissing && errorMessage(cause).includes(packageName)
    ? new MissingDrawingPackageError(packageName, { cause })
    : cause;
}
