import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadAgent } from "../../../src/definition/load/load-agent.ts";
import { DefinitionFileError } from "../../../src/definition/load/parse-definition.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const folder = tempFolder({
  "a.yaml": "name: a\n",
  "b.yml": "name: a\n",
  "c.JSON": '{"name": "a"}',
  "wrong.yaml": "name: a\ntoools: []\n",
  "lookahead.yaml": `name: a
input_schema:
  type: object
  properties:
    password:
      type: string
      pattern: "^(?=.*[0-9])"
`,
  "notes.txt": "name: a\n",
  "folder.yaml/a.yaml": "name: a\n",
  "full.yaml": `name: a\n#${"x".repeat(1_048_576 - 9)}`,
  "large.yaml": `name: a\n#${"x".repeat(1_048_576 - 8)}`,
});

describe("loadAgent", () => {
  it.each(["a.yaml", "b.yml", "c.JSON", "full.yaml"])(
    "loads %s and keeps its path",
    async (file) => {
      const agent = await loadAgent(join(folder, file));
      expect(agent.spec.name).toBe("a");
      expect(agent.source).toBe(join(folder, file));
    },
  );

  it("names file, line and column of a problem", async () => {
    const file = join(folder, "wrong.yaml");
    await expect(loadAgent(file)).rejects.toMatchObject({
      code: "invalid_definition",
      problems: [{ file, line: 2, column: 1, path: ["toools"], suggestion: "tools" }],
    });
  });

  it("names the line of a pattern that only backtracking could match", async () => {
    const file = join(folder, "lookahead.yaml");
    await expect(loadAgent(file)).rejects.toMatchObject({
      problems: [
        {
          file,
          line: 7,
          path: ["input_schema", "properties", "password", "pattern"],
          message: expect.stringContaining('a lookahead "(?="'),
        },
      ],
    });
  });

  it.each([
    ["missing.yaml", "there is no such file"],
    ["notes.txt", "expected a .yaml, .yml or .json file"],
    ["folder.yaml", "expected a file, found a folder"],
    ["large.yaml", "the file has 1,048,577 bytes, the limit is 1,048,576"],
  ])("refuses %s", async (name, problem) => {
    const file = join(folder, name);
    const error: unknown = await loadAgent(file).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DefinitionFileError);
    expect(error).toMatchObject({
      code: "definition_file",
      file,
      message: `${file}: ${problem}`,
    });
  });
});
