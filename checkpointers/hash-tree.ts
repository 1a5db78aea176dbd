import { sha256 } from "./sha256.ts";

/** Leaves under one inner node. Two levels are enough: a list of 10,000 has 157 inner nodes. */
const LEAVES = 64;

/**
 * A hash over a sequence of hashes, of two levels: blocks of 64 leaves, and the root over the blocks. Making the tree of
 * a sequence from that of another costs the blocks in which they differ.
 */
export interface HashTree {
  /** 32 bytes each; the same object where the leaf is the same. */
  readonly leaves: readonly Buffer[];
  readonly blocks: readonly Buffer[];
  /** 32 bytes. */
  readonly root: Buffer;
}

/** @param like another tree, whose leaves are the same `until` so many of them, and maybe further on */
export function hashTree(
  leaves: readonly Buffer[],
  like?: { readonly tree: HashTree; readonly until: number },
): HashTree {
  const whole = like === undefined ? 0 : Math.floor(like.until / LEAVES);
  const blocks = like === undefined ? [] : like.tree.blocks.slice(0, whole);
  for (let start = whole * LEAVES; start < leaves.length; start += LEAVES) {
    const end = Math.min(start + LEAVES, leaves.length);
    const known = like !== undefined && sameLeaves(leaves, like.tree.leaves, start, end);
    blocks.push(known ? like.tree.blocks[start / LEAVES]! : sha256(...leaves.slice(start, end)));
  }
  return { leaves, blocks, root: sha256(`${leaves.length}\n`, ...blocks) };
}

/** By identity. */
function sameLeaves(
  leaves: readonly Buffer[],
  others: readonly Buffer[],
  start: number,
  end: number,
): boolean {
  if (Math.min(start + LEAVES, others.length) !== end) return false;
  for (let at = start; at < end; at += 1) if (leaves[at] !== others[at]) return false;
  return true;
}
