import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { joinModules } from "../../../src/experiment/report/join-modules.ts";
import { pageScript } from "../../../src/experiment/report/page-parts.ts";
import { scriptJson } from "../../../src/experiment/report/report-data.ts";
import { reportTitle } from "../../../src/experiment/report/report-title.ts";
import { reportHtml } from "../../../src/experiment/report/report-html.ts";

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
  expect(page).toContain("// https://d3js.org");
  expect(page).toContain("// @observablehq/plot");
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

it("joins modules, each once and after what it imports", () => {
  const modules: Record<string, string> = {
    main: 'import { a } from "./a.js";\nimport {\n  b,\n  c,\n} from "./b-c.js";\nresult = [a, b(), c, own];\nfunction own() {}\n',
    a: 'import { c } from "./b-c.js";\nexport const a = c + 1;\nconst own = 5;\n',
    "b-c": "export function b() {\n  return own;\n}\nexport const c = 1;\nconst own = 7;\n",
  };
  const read = (name: string) => modules[name] ?? "";
  const joined = joinModules("main", read);
  const context: { result?: unknown[] } = {};
  new Script(joined).runInNewContext(context);
  expect(context.result?.slice(0, 3)).toEqual([2, 7, 1]);
  expect(joined.match(/const module_\w+ = \(/g)).toEqual([
    "const module_b_c = (",
    "const module_a = (",
    "const module_main = (",
  ]);
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
