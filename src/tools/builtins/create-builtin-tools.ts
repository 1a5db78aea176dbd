import type { Clock } from "../../clock.ts";
import type { AgentTool, StatelessTool } from "../../definition/tool/tool.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Secrets } from "../secrets.ts";
import { calculator } from "./calculator.ts";
import { currentTimeTool } from "./current-time.ts";
import type { HttpAllow } from "./http/allow-list.ts";
import { httpGetTool } from "./http/http-get.ts";
import { jsonQueryTool, queryJsonFileTool } from "./json-query/json-query.ts";
import { listFilesTool, readFileTool } from "./file-tools.ts";
import { type RootFolder, rootFolder } from "./root-folder.ts";
import { runCodeTool } from "./run-code.ts";
import { searchDocumentsTool } from "./search-documents.ts";
import { searchTextTool } from "./search-text.ts";

/** A folder, or that of each agent by its name, which is undefined where a tool is tried without an agent. */
export type FileRoot = string | ((agent: string | undefined) => string);

export interface BuiltinToolsOptions {
  /** The folder that the file tools are confined to. It may be made later. */
  readonly root: FileRoot;
  /** What `current_time` tells. Default: the clock of the run that calls it. */
  readonly clock?: Clock;
  /** What `http_get` may ask. Default: nothing. */
  readonly httpAllow?: readonly HttpAllow[];
  /** Where secrets in the headers of `http_get` come from. Default: those of the run that calls it. */
  readonly secrets?: Secrets;
  /** Where `run_code` runs. Without one there is no such tool. */
  readonly sandbox?: Sandbox;
}

/**
 * The tools that need no key: calculator, current_time, json_query, search_documents, read_file, list_files,
 * search_text, query_json_file, http_get, and run_code where there is a sandbox.
 * @throws HttpAllowError
 */
export function createBuiltinTools(options: BuiltinToolsOptions): readonly AgentTool[] {
  const { root, clock, httpAllow: allow, secrets, sandbox } = options;
  return [
    calculator,
    currentTimeTool(clock),
    jsonQueryTool,
    searchDocumentsTool,
    fileTool(readFileTool, root),
    fileTool(listFilesTool, root),
    fileTool(searchTextTool, root),
    fileTool(queryJsonFileTool, root),
    httpGetTool({ ...(allow && { allow }), ...(secrets && { secrets }) }),
    ...(sandbox === undefined ? [] : [runCodeTool(sandbox)]),
  ];
}

/** A tool on the files of a folder, or of the folder of the agent that calls it. */
function fileTool(create: (folder: RootFolder) => StatelessTool, root: FileRoot): StatelessTool {
  if (typeof root === "string") return create(rootFolder(root));
  const made = new Map<string, StatelessTool>();
  const toolIn = (folder: string) => {
    const tool = made.get(folder) ?? create(rootFolder(folder));
    made.set(folder, tool);
    return tool;
  };
  return Object.freeze<StatelessTool>({
    ...toolIn(root(undefined)),
    run: (input, context) => toolIn(root(context.agent)).run(input, context),
  });
}
