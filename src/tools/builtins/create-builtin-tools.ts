import type { Clock } from "../../clock.ts";
import type { AgentTool } from "../../definition/tool.ts";
import { calculator } from "./calculator/calculator.ts";
import { currentTimeTool } from "./current-time.ts";
import { listFilesTool } from "./list-files.ts";
import { readFileTool } from "./read-file.ts";
import { rootFolder } from "./root-folder.ts";
import { searchTextTool } from "./search-text.ts";

export interface BuiltinToolsOptions {
  /** The folder that the file tools are confined to. It may be made later. */
  readonly root: string;
  /** What `current_time` tells. Default: the clock of the run that calls it. */
  readonly clock?: Clock;
}

/** The tools that need neither a key nor a network: calculator, current_time, read_file, list_files, search_text. */
export function createBuiltinTools({ root, clock }: BuiltinToolsOptions): readonly AgentTool[] {
  const folder = rootFolder(root);
  return [
    calculator,
    currentTimeTool(clock),
    readFileTool(folder),
    listFilesTool(folder),
    searchTextTool(folder),
  ];
}
