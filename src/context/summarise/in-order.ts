/** The results of `work` for each item, in their order, with at most `most` of them under way. */
export async function inOrder<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next;
      next += 1;
      results[at] = await work(items[at] as Item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}
