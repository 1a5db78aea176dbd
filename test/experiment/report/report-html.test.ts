import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { pageScript, reportHtml, scriptJson } from "../../../src/experiment/report/report-html.ts";
import { reportTitle } from "../../../src/experiment/report/run-summary.ts";

const html = (folder: string) =>
  [...reportHtml({ folder, madeAt: new Date(0), runs: [], leftOut: [] })].join("");

it("holds no address that a browser would fetch, and forbids fetching", () => {
  const page = html("logs");
  expect(page).not.toMatch(/<[^>]*\s(src|href)\s*=/);
  expect(page).not.toMatch(/@import|url\(\s*["']?(?!data:)[a-z]/);
  expect(page).toContain(`content="default-src 'none'; script-src 'sha256-`);
});

it("holds the licences of what it holds", () => {
  const page = html("logs");
  expect(page.match(/Permission to use, copy, modify, and\/or distribute/g)).toHaveLength(2);
  expect(page).toContain("Mike Bostock");
  expect(page).toContain("Observable, Inc.");
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

it("has a script that parses, with nothing left to import", () => {
  const script = pageScript();
  expect(script).not.toMatch(/^(import|export)\b/m);
  expect(() => new Script(script)).not.toThrow();
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
