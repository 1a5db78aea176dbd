import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reportCsv } from "../../../src/experiment/report/report-html.ts";
import type { RunSummary } from "../../../src/experiment/report/run-summary.ts";

function runWith(...reflections: string[]): RunSummary {
  return {
    run_id: "a",
    model_name: "ollama:llama3:latest",
    seed: null,
    prompt_name: null,
    config_hash: "0",
    model_options: {},
    cycles_done: reflections.length,
    unfinished_cycle: null,
    cycles: reflections.map((final_reflection, index) => ({
      cycle_number: index + 1,
      started_at: "2026-11-20T08:00:00.000Z",
      duration_ms: 1500,
      llm_invocations: 2,
      tool_calls: 3,
      tool_errors: 1,
      memory_ops_total: 4,
      messages_to_operator: 5,
      response_chars: 6,
      memory_write_chars: 7,
      memory_keys: 8,
      memory_chars: 9,
      tokens_in: 10,
      tokens_out: 11,
      cost_usd: null,
      final_reflection,
    })),
  };
}

const names =
  "run_id,model_name,seed,prompt_name,cycle_number,started_at,duration_ms,llm_invocations,tool_calls,tool_errors," +
  "memory_ops_total,messages_to_operator,response_chars,memory_write_chars,memory_keys,memory_chars,tokens_in,tokens_out,cost_usd,final_reflection";

const csvOf = (...runs: RunSummary[]) => [...reportCsv(runs)].join("");
const reflectionCell = (text: string) =>
  [...reportCsv([runWith(text)])][1]?.split(",10,11,,").slice(1).join(",10,11,,").slice(0, -2);

describe("a CSV file of runs", () => {
  it("has a row a cycle under a row of names, its lines ended as RFC 4180 has it", () => {
    const second = { ...runWith("Done."), run_id: "b", seed: -3, prompt_name: "terse, short" };
    expect(csvOf(runWith("One.", 'A "quoted"\nline'), second)).toBe(
      [
        names,
        "a,ollama:llama3:latest,,,1,2026-11-20T08:00:00.000Z,1500,2,3,1,4,5,6,7,8,9,10,11,,One.",
        'a,ollama:llama3:latest,,,2,2026-11-20T08:00:00.000Z,1500,2,3,1,4,5,6,7,8,9,10,11,,"A ""quoted""\nline"',
        'b,ollama:llama3:latest,-3,"terse, short",1,2026-11-20T08:00:00.000Z,1500,2,3,1,4,5,6,7,8,9,10,11,,Done.',
        "",
      ].join("\r\n"),
    );
  });

  it("has the names alone where no cycle has ended", () => {
    expect(csvOf(runWith())).toBe(`${names}\r\n`);
  });

  it("keeps a spreadsheet from taking a text for a formula", () => {
    const texts = ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\u0000=1", "＝1", "\tx", "\rx"];
    expect(texts.map(reflectionCell)).toEqual([
      "'=1+1",
      "'+1",
      "'-1",
      "'@SUM(A1)",
      "' =1",
      "'\t=1",
      "'\u0000=1",
      "'＝1",
      "'\tx",
      '"\'\rx"',
    ]);
    expect(reflectionCell('=HYPERLINK("x","y")')).toBe('"\'=HYPERLINK(""x"",""y"")"');
    expect(reflectionCell("a=1")).toBe("a=1");
  });

  it("gives every text back, but for the apostrophe", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const cell = reflectionCell(text) ?? "";
        const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
        expect([text, `'${text}`]).toContain(read);
      }),
    );
  });
});
