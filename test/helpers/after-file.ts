import { afterAll, vi } from "vitest";
import { runCleanUps } from "./clean-up.ts";

// Runs before every test file. Its hook is the last of the file.
afterAll(async () => {
  // Vitest keeps all mocks of a process, and what they were called with.
  vi.clearAllMocks();
  await runCleanUps();
});
