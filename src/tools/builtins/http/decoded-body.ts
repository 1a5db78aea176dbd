import { PassThrough, pipeline, type Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { ToolFailure } from "../../tool-failure.ts";

/**
 * A body as it was before it was compressed. It is decompressed piece by piece as it is read, so that a reader who
 * stops early is not filled by a small body that stands for a large one.
 * @throws ToolFailure for a compression that is not known; as the stream's error for a body that is damaged
 */
export function decodedBody(body: Readable, encoding = "identity"): Readable {
  const names = encoding
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity");
  const [name] = names;
  if (name === undefined) return body;
  const create = decoders[name];
  if (create === undefined || names.length > 1) {
    throw new ToolFailure(
      `The body is compressed with "${encoding.slice(0, 100)}", which is not read.`,
    );
  }
  const output = new PassThrough();
  const endEmpty = () => output.end();
  body.once("end", endEmpty);
  body.once("error", (thrown: Error) => output.destroy(thrown));
  body.once("readable", () => {
    const first = body.read() as Buffer | null;
    if (first === null) return;
    body.off("end", endEmpty);
    body.unshift(first);
    const decoder = create(first);
    decoder.once("error", (cause: NodeJS.ErrnoException) => {
      const isOurs = /^(?:Z_|ERR__)/.test(cause.code ?? "");
      output.destroy(
        isOurs
          ? new ToolFailure(`The body is no valid ${name} (${cause.message}).`, { cause })
          : cause,
      );
    });
    pipeline(body, decoder, output, () => {});
  });
  return output;
}

const decoders: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  br: () => createBrotliDecompress(),
  // Some servers leave out the header that the name calls for (RFC 9110 8.4.1.2).
  deflate: (first) => (((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};
