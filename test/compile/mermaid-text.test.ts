import { describe, expect, it } from "vitest";
import { mermaidIds, mermaidText } from "../../src/compile/mermaid-text.ts";

const node = (id: string, type: string, description?: string) => ({
  id,
  metadata: { type, ...(description !== undefined && { description }) },
});

describe("Mermaid text", () => {
  it("has a shape for each type, and what a node is for below its name", () => {
    const text = mermaidText({
      nodes: [
        { id: "__start__" },
        node("choose", "router", "Which  way?"),
        node("look_up", "tool"),
        node("ask", "human"),
        node("help", "agent"),
        node("say", "llm"),
        node("reflect", "lifecycle"),
        { id: "__end__" },
      ],
      edges: [],
    });
    expect(text.split("\n").slice(0, 10)).toEqual([
      "flowchart TD",
      '  __start__(["START"]):::is_start',
      '  choose{"`**choose**',
      'Which way?`"}:::is_router',
      '  look_up[["`**look#95;up**`"]]:::is_tool',
      '  ask{{"`**ask**`"}}:::is_human',
      '  help[/"`**help**`"/]:::is_agent',
      '  say("`**say**`"):::is_llm',
      '  reflect(["`**reflect**`"]):::is_lifecycle',
      '  __end__(["END"]):::is_end',
    ]);
  });

  it("has solid edges, and dashed ones that say when", () => {
    const text = mermaidText({
      nodes: [node("a", "llm"), node("b", "llm")],
      edges: [
        { source: "a", target: "b", conditional: false },
        { source: "b", target: "a", conditional: true, data: 'choice == "x"' },
        { source: "b", target: "b", conditional: true },
      ],
    });
    expect(text).toContain('  a --> b\n  b -.->|"choice == #34;x#34;"| a\n  b -.-> b\n');
  });

  it("puts what is inside of an agent into a box of its own", () => {
    const text = mermaidText({
      nodes: [node("plan", "lifecycle"), node("team:plan", "lifecycle"), node("team:sub:x", "llm")],
      edges: [{ source: "plan", target: "team:plan" }],
    });
    expect(text.split("\n").slice(1, 9)).toEqual([
      '  plan(["`**plan**`"]):::is_lifecycle',
      '  subgraph team["`**team**`"]',
      '    team_plan(["`**plan**`"]):::is_lifecycle',
      '    subgraph team_sub["`**sub**`"]',
      '      team_sub_x("`**x**`"):::is_llm',
      "    end",
      "  end",
      "  plan --> team_plan",
    ]);
    expect(text).toContain("  class team,team_sub is_group\n");
  });

  it("has only the looks that it uses", () => {
    const text = mermaidText({ nodes: [node("a", "llm")], edges: [] });
    expect(text.match(/classDef \w+/g)).toEqual(["classDef is_llm"]);
  });
});

describe("the ids of Mermaid", () => {
  it("are near to the names, none of them twice, and no words of Mermaid's", () => {
    const ids = mermaidIds(["a-b", "a_b", "a:b", "end", "END", "Subgraph", "c"]);
    expect([...ids.values()]).toEqual(["a_b", "a_b_2", "a_b_3", "end_", "END_", "Subgraph_", "c"]);
  });
});
