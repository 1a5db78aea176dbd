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
  /** Numbers from 1; 0 for what was not come to. */
  const index = new Int32Array(next.length);
  const low = new Int32Array(next.length);
  let entered = 0;
  const stack: number[] = [];
  const onStack = new Uint8Array(next.length);
  const components: number[][] = [];
  const path: { node: number; tried: number }[] = [];
  const enter = (node: number) => {
    entered += 1;
    index[node] = entered;
    low[node] = entered;
    stack.push(node);
    onStack[node] = 1;
    path.push({ node, tried: 0 });
  };
  const lower = (node: number, to: number | undefined) => {
    low[node] = Math.min(low[node] ?? 0, to ?? 0);
  };
  for (const root of nodes) {
    if (index[root] === 0) enter(root);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { node } = top;
      const target = next[node]?.[top.tried];
      top.tried += 1;
      if (target !== undefined) {
        if (!isEdge(node, target)) continue;
        if (index[target] === 0) enter(target);
        else if (onStack[target] === 1) lower(node, index[target]);
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) lower(above.node, low[node]);
      if (low[node] !== index[node]) continue;
      const component = stack.splice(stack.lastIndexOf(node));
      for (const one of component) onStack[one] = 0;
      components.push(component);
    }
  }
  return components.toReversed();
}
