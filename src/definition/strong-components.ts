/**
 * Tarjan's strongly connected components (1972), without recursion: the largest sets of nodes that all lead to each
 * other, those first that lead to others.
 *
 * @param nodes what is looked at: places in `next`
 * @param isEdge which of the edges between them count
 */
export function strongComponents(
  nodes: readonly number[],
  next: readonly (readonly number[])[],
  isEdge: (from: number, to: number) => boolean,
): readonly (readonly number[])[] {
  const index = new Map<number, number>();
  const low = new Map<number, number>();
  const stack: number[] = [];
  const onStack = new Set<number>();
  const components: number[][] = [];
  const path: { node: number; tried: number }[] = [];
  const enter = (node: number) => {
    low.set(node, index.size);
    index.set(node, index.size);
    stack.push(node);
    onStack.add(node);
    path.push({ node, tried: 0 });
  };
  const lower = (node: number, to: number | undefined) => {
    low.set(node, Math.min(low.get(node) ?? 0, to ?? 0));
  };
  for (const root of nodes) {
    if (!index.has(root)) enter(root);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { node } = top;
      const target = next[node]?.[top.tried];
      top.tried += 1;
      if (target !== undefined) {
        if (!isEdge(node, target)) continue;
        if (!index.has(target)) enter(target);
        else if (onStack.has(target)) lower(node, index.get(target));
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) lower(above.node, low.get(node));
      if (low.get(node) !== index.get(node)) continue;
      const component = stack.splice(stack.lastIndexOf(node));
      for (const one of component) onStack.delete(one);
      components.push(component);
    }
  }
  return components.toReversed();
}
