import { Script } from "node:vm";
import { beforeAll, describe, expect, it } from "vitest";
import {
  reportHtml,
  ReportPageMissingError,
  scriptJson,
} from "../../../src/experiment/report/report-html.ts";
import { reportTitle } from "../../../src/experiment/report/run-summary.ts";

const html = (folder: string) =>
  [...reportHtml({ folder, madeAt: new Date(0), runs: [], leftOut: [] })].join("");

describe("the file of a report", () => {
  let page = "";
  beforeAll(() => {
    page = html("logs");
  });

  it("holds no address that a browser would fetch, and forbids fetching", () => {
    const markup = page.replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, "");
    expect(markup).not.toMatch(/<[^>]*\s(src|href)\s*=/);
    expect(page).not.toMatch(/@import|url\(\s*["']?(?!data:)[a-z]/);
    expect(page).toMatch(
      /content="default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'/,
    );
  });

  it("holds the licences of what it holds", () => {
    expect(page).toMatch(/## preact - .* \(MIT\)/);
    expect(page).toMatch(/## d3-array - .* \(ISC\)/);
    expect(page).toContain("Mike Bostock");
  });

  it("is small: at most 100 kB without data", () => {
    expect(Buffer.byteLength(page)).toBeLessThan(100_000);
  });

  it("has a script that parses, with nothing left to import", () => {
    const script = /<script type="module">([\s\S]*)<\/script>/.exec(page)?.[1] ?? "";
    expect(script.length).toBeGreaterThan(10_000);
    expect(script).not.toMatch(/^(import|export)\b/m);
    expect(() => new Script(script)).not.toThrow();
  });
});

it("names the command that builds its page, where it is not built", () => {
  const source = { folder: "logs", madeAt: new Date(0), runs: [], leftOut: [] };
  const make = () => [...reportHtml(source, new URL("file:///nowhere/"))];
  expect(make).toThrow(ReportPageMissingError);
  expect(make).toThrow("npm run build:inspector");
});

it("does not let data end its script", () => {
  const page = html('</script><!--<script>alert("\u2028")');
  expect(page).not.toContain('</script><!--<script>alert("');
  expect(page).toContain(
    String.raw`"folder":"\u003c/script>\u003c!--\u003cscript>alert(\"\u2028\")"`,
  );
});

it("gives data as they are", () => {
  const value = { text: "</script>\u2028\u2029 & \\u003c \ud800", list: [1, null, "<"] };
  expect(JSON.parse(scriptJson(value))).toEqual(value);
});

describe("the title of a report", () => {
  const titleOf = (folder: string, ...ids: string[]) => {
    return reportTitle({ folder, runs: ids.map((run_id) => ({ run_id })) });
  };

  it("is what the ids of all runs begin with, else the folder's name", () => {
    expect(titleOf("logs", "drift.a.1", "drift.a.2")).toBe("Experiment report: drift.a");
    expect(titleOf("logs", "drift.terse")).toBe("Experiment report: drift.terse");
    expect(titleOf("runs/may/", "drift.a", "diary.a")).toBe("Experiment report: may");
    expect(titleOf("logs", "x".repeat(300))).toHaveLength("Experiment report: ".length + 81);
  });

  it("is text in the page", () => {
    expect(html("a<b>&c")).toContain("<title>Experiment report: a&lt;b>&amp;c</title>");
  });
});
