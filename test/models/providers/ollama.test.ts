import { describe, expect, it } from "vitest";
import { ollamaAddress } from "../../../src/models/providers/ollama.ts";

describe("ollamaAddress", () => {
  it.each([
    ["127.0.0.1:11434", "http://127.0.0.1:11434"],
    ["localhost", "http://localhost:11434"],
    ["gpu.example.org:80", "http://gpu.example.org"],
    ["gpu.example.org/ollama/", "http://gpu.example.org:11434/ollama"],
    ["http://gpu.example.org", "http://gpu.example.org"],
    ["https://gpu.example.org/ollama/", "https://gpu.example.org/ollama"],
    ["HTTPS://gpu.example.org:8443", "https://gpu.example.org:8443"],
    ["0.0.0.0", "http://127.0.0.1:11434"],
    ["http://0.0.0.0:1234", "http://127.0.0.1:1234"],
    ["10.0.0.0:1234", "http://10.0.0.0:1234"],
    [":1234", "http://127.0.0.1:1234"],
    ["[::1]:1234", "http://[::1]:1234"],
    ["::1", "http://[::1]:11434"],
    ["[::]:1234", "http://[::1]:1234"],
    [" localhost:1 ", "http://localhost:1"],
  ])("reads %s", (host, url) => {
    expect(ollamaAddress(host)).toEqual({ url, authorization: null });
  });

  it("takes credentials out", () => {
    expect(ollamaAddress("https://ada:p%40ss@gpu.example.org")).toEqual({
      url: "https://gpu.example.org",
      authorization: { header: "Basic YWRhOnBAc3M=", password: "p@ss" },
    });
    expect(ollamaAddress("ada:pass@gpu:1")).toEqual({
      url: "http://gpu:1",
      authorization: { header: "Basic YWRhOnBhc3M=", password: "pass" },
    });
  });

  it.each(["", " ", "ftp://gpu:1", "http://", "gpu:port", "gpu:99999", "two words"])(
    "does not read %j",
    (host) => {
      expect(ollamaAddress(host)).toBeNull();
    },
  );
});
