import { ok, problem, type Finding } from "./finding.ts";

const least = 20;

/** @param version as `process.version` has it */
export function checkNode(version: string): readonly Finding[] {
  const about = { check: "node", subject: "" };
  const [major = ""] = version.replace(/^v/, "").split(".");
  if (Number(major) >= least) return [ok(about, version)];
  return [problem(about, `${version} is too old.`, `Install Node ${least} or later.`)];
}
