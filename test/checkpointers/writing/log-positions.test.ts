import { expect, it } from "vitest";
import { ElementBatch } from "../../../checkpointers/writing/log-positions.ts";
import type { LogTail } from "../../../checkpointers/elements/sequence.ts";

const unit = { type: null, blob: Buffer.from("1"), hash: Buffer.alloc(32) };

it("goes on in no log where somebody else wrote, whether its end is remembered or not", async () => {
  let logs = 0;
  const draft = new ElementBatch(
    {
      dump: async () => unit,
      freeze: () => true,
      newTail: async () => ({ log: (logs += 1), next: 0, closed: false }),
    },
    null,
  );
  const [forgotten, heap, other] = [
    await draft.openTail(null),
    await draft.openScalarLog(),
    await draft.openTail(null),
  ];
  for (const tail of [forgotten, heap]) draft.append(tail, unit);
  const again: LogTail = { ...heap };

  draft.closeLogs([again, other]);

  expect([forgotten, heap, again, other].map(({ closed }) => closed)).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect((await draft.openTail(forgotten)).log).toBe(4);
});
