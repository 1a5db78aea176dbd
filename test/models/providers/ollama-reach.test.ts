import { describe, expect, it } from "vitest";
import {
  checkOllamaServers,
  OllamaUnreachableError,
} from "../../../src/models/providers/ollama-reach.ts";
import { freePort } from "../../helpers/free-port.ts";
import { httpServer } from "../../helpers/http-server.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

describe("checkOllamaServers", () => {
  it("takes any answer, and asks each server once", async () => {
    const paths: (string | undefined)[] = [];
    const host = await httpServer((request, response) => {
      paths.push(request.url);
      response.writeHead(401).end();
    });
    const clock = new ManualClock();
    await checkOllamaServers([`http://${host}`, `http://${host}`], clock);
    expect(paths).toEqual(["/api/version"]);
    expect(clock.pending).toBe(0);
  });

  it("refuses a closed port at once", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const clock = new ManualClock();
    const refused = checkOllamaServers([url], clock);
    await expect(refused).rejects.toThrow(OllamaUnreachableError);
    await expect(refused).rejects.toMatchObject({
      code: "ollama_unreachable",
      url,
      message: expect.stringMatching(
        /^No Ollama server answers at http:\S+ \(connect ECONNREFUSED .*\)\. Start it with `ollama serve`, or set OLLAMA_HOST /,
      ) as string,
    });
    expect(clock.pending).toBe(0);
  });

  it("refuses a server that never answers after three seconds", async () => {
    const clock = new ManualClock();
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const host = await httpServer(() => isAsked());
    const refused = checkOllamaServers([`http://${host}`], clock);
    await asked;
    clock.advance(2_999);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    await expect(refused).rejects.toThrow("(no answer within 3 s)");
  });
});
