import { join } from "node:path";
import { FolderLockedError, lockFolder } from "../../../src/storage/folder-lock.ts";

// On a line of standard input, tries to lock the folders 0 to n-1 and prints those it got; holds them until killed.
const [folder, count] = [process.argv[2]!, Number(process.argv[3])];
console.log("ready");
process.stdin.on("data", () => {
  const taken = Array.from({ length: count }, (_, i) => i).filter((i) => {
    try {
      lockFolder(join(folder, String(i)));
      return true;
    } catch (error) {
      if (error instanceof FolderLockedError) return false;
      throw error;
    }
  });
  console.log(JSON.stringify(taken));
});
