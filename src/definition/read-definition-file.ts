import { open } from "node:fs/promises";
import { extname } from "node:path";
import { errorMessage } from "../errors.ts";
import { DefinitionFileError } from "./parse-definition.ts";

/** Bytes of a definition file. */
const maxDefinitionBytes = 1_048_576;

/**
 * The text of a `.yaml`, `.yml` or `.json` file.
 *
 * @throws DefinitionFileError
 */
export async function readDefinitionFile(path: string): Promise<string> {
  const extension = extname(path).toLowerCase();
  if (![".yaml", ".yml", ".json"].includes(extension)) {
    throw new DefinitionFileError(path, "expected a .yaml, .yml or .json file");
  }
  const handle = await open(path, "r").catch((cause: NodeJS.ErrnoException) => {
    const problem = cause.code === "ENOENT" ? "there is no such file" : errorMessage(cause);
    throw new DefinitionFileError(path, problem, { cause });
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new DefinitionFileError(path, "expected a file, found a folder");
    if (stat.size > maxDefinitionBytes) {
      throw new DefinitionFileError(
        path,
        `the file has ${stat.size.toLocaleString("en")} bytes, the limit is ${maxDefinitionBytes.toLocaleString("en")}`,
      );
    }
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}
