import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkDefinition } from "../../../src/definition/check/check-definition.ts";
import { parseDefinition } from "../../../src/definition/load/parse-definition.ts";
import { InvalidDefinitionError } from "../../../src/definition/check/problems.ts";

/** A lead that sends researchers out in parallel, routes, asks a person, and uses every part there is. */
const whole = `
name: desk
tools: [search, send]
guardrail_config: { tool_rails: { allowed_tools: [search, send], require_approval: [send] } }
execution_config: { max_iterations: 6 }
workflow_graph:
  entry_point: classify
  nodes:
    - name: classify
      type: router
      config:
        rules: [{ when: 'input.message.size() > 500', choice: long }]
        choices: [{ name: question, description: It asks. }, { name: order, description: It orders. }]
        default: question
        prompt: "What is it? \${input.message}"
    - { name: lead, type: llm, config: { prompt: Divide the work., tools: none, writes: attempt.division } }
    - { name: read, type: llm, config: { tools: [search], writes: execution.read } }
    - { name: read_tools, type: tool, config: { concurrency: 4 } }
    - { name: look, type: tool, config: { tool: search, args: { query: "\${input.message}" }, writes: execution.found } }
    - { name: meet, type: llm, config: { prompt: "\${execution.read} \${execution.found}", output_schema: { type: object, properties: { done: { type: boolean } } } } }
    - { name: check, type: human, config: { kind: approval, timeout_seconds: 60, on_timeout: reject } }
    - { name: ship, type: tool, config: { tool: send, args: { text: "\${nodes.meet.text}" } } }
  edges:
    - { from: classify, to: look, condition: 'nodes.classify.choice in ["order", "long"]' }
    - { from: classify, to: lead }
    - { from: lead, to: [read, look] }
    - { from: read, to: read_tools, condition: last.tool_calls.size() > 0 }
    - { from: read, to: meet }
    - { from: read_tools, to: read }
    - { from: look, to: meet }
    - { from: meet, to: lead, condition: '!nodes.meet.output.done && steps.size() < 20' }
    - { from: meet, to: check }
    - { from: check, to: ship, condition: nodes.check.approved }
    - { from: check, to: END }
    - { from: ship, to: END }
  output: { message: "\${nodes.meet.text}" }
`;

describe("a definition with a workflow", () => {
  it("is accepted where nothing is wrong", async () => {
    const { spec } = await parseDefinition(whole, "desk.yaml");
    expect(spec.workflow_graph?.nodes).toHaveLength(8);
  });

  it("has all its problems reported together, each where it stands", async () => {
    const text = whole
      .replace("max_iterations: 6", "mode: deep")
      .replace("on_timeout: reject", "on_timeout: fail, proposed: '${nodes.met}'")
      .replace("nodes.check.approved", "nodes.chek.approved")
      .replace("execution.found }", "execution.read }")
      .replace("tools: [search],", "tools: [serch],");
    const problem = await parseDefinition(text, "desk.yaml").catch((thrown: unknown) => thrown);
    expect(problem).toBeInstanceOf(InvalidDefinitionError);
    expect((problem as Error).message.split("\n")).toEqual([
      "The agent definition has 7 problems:",
      '  desk.yaml:17:50 workflow_graph.nodes[2].config.tools[0]: not one of the definition\'s tools (found "serch"; allowed: search, send; did you mean "search"?)',
      '  desk.yaml:19:102 workflow_graph.nodes[4].config.writes: "look" and "read" may run in parallel and both write execution.read; give each a key of its own, or name a merge for it in state_config.merge',
      `  desk.yaml:21:110 workflow_graph.nodes[6].config.proposed: template '\${nodes.met}' at character 8: unknown field "met" of nodes, which has classify, lead, read, read_tools, look, meet, check, ship (did you mean "meet"?)`,
      "  desk.yaml:26:7 workflow_graph.edges[2]: the loop look → meet → lead → look has no bound; write execution_config.max_iterations",
      "  desk.yaml:28:7 workflow_graph.edges[4]: the loop meet → lead → read → meet has no bound; write execution_config.max_iterations",
      "  desk.yaml:29:7 workflow_graph.edges[5]: the loop read → read_tools → read has no bound; write execution_config.max_iterations",
      '  desk.yaml:33:43 workflow_graph.edges[9].condition: condition \'nodes.chek.approved\' at character 6: unknown field "chek" of nodes, which has classify, lead, read, read_tools, look, meet, check, ship (did you mean "check"?)',
    ]);
  });

  it("has what else is wrong with a node reported beside what it writes to", async () => {
    const text = whole
      .replace("execution.read }", "executon.read }")
      .replace("tools: [search],", "tools: [serch],")
      .replace("last.tool_calls.size() > 0 }", "'false' }")
      .replace("{ from: read, to: read_tools, condition: 'false' }", "{ from: read, to: meet }");
    const problem = await parseDefinition(text, "desk.yaml").catch((thrown: unknown) => thrown);
    const places = (problem as Error).message
      .split("\n")
      .map((line) => /workflow_graph\S*/.exec(line)?.[0]);
    expect(places).toEqual([
      undefined,
      "workflow_graph.nodes[2].config.tools:",
      "workflow_graph.nodes[2].config.tools[0]:",
      "workflow_graph.nodes[2].config.writes:",
      "workflow_graph.nodes[3]:",
      "workflow_graph.nodes[3]:",
      "workflow_graph.edges[4]:",
    ]);
  });

  const examples = readdirSync("examples", { recursive: true, encoding: "utf8" });
  const definitions = examples.filter(
    // Those of experiments are configs of another kind.
    (file) => file.endsWith(".yaml") && !file.startsWith("experiment"),
  );
  it.each(definitions)("raises no false alarm at examples/%s", async (file) => {
    await expect(
      parseDefinition(readFileSync(`examples/${file}`, "utf8"), file),
    ).resolves.toBeDefined();
  });

  const size = 500;
  const names = Array.from({ length: size }, (_, index) => `n${index}`);
  const next = (index: number) => names[index + 1] ?? "END";
  const node = (name: string) => {
    return { name, type: "llm", config: { prompt: "${last.text}", writes: `execution.${name}` } };
  };
  const large = {
    chain: names.flatMap((from, index) => [
      { from, to: "END", condition: `nodes.${from}.text == "${index}"` },
      { from, to: next(index) },
    ]),
    diamonds: names.map((from, index) => {
      const [one, other] = [next(index), next(index + 1)];
      return { from, to: [[one, other], other, one, one][index % 4] };
    }),
    loops: names.flatMap((from, index) => [
      { from, to: names[Math.max(0, index - 1)], condition: "steps.size() < 3" },
      { from, to: next(index) },
    ]),
    star: names.map((from, index) => {
      return {
        from,
        to: index === 0 ? names.slice(1, -1) : index < size - 1 ? next(size - 2) : "END",
      };
    }),
  };

  it.each(Object.entries(large))(
    "of 500 nodes is checked without going every way: %s",
    (_, edges) => {
      const written = {
        name: "a",
        execution_config: { max_iterations: 3 },
        workflow_graph: { entry_point: "n0", nodes: names.map(node), edges },
      };
      // The ways from the entry point to the end are too many to be gone within the test's time limit.
      expect(checkDefinition(written)).toMatchObject({ ok: true });
    },
  );
});
