import { isAbsolute, relative, sep } from "node:path";

/** A path as people read it: from the working folder where the file is in it, else whole. */
export function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  const isOutside = short === "" || short === ".." || short.startsWith(`..${sep}`);
  return isOutside || isAbsolute(short) ? path : short;
}
