// What hangs below what in a host: as the data says, or else as the links reach down from the processors.
import type { TopologyLink, TopologyNode } from '../page';

export const isLeaf = (node: TopologyNode): boolean => node.kind === 'gpu' || node.kind === 'nic';
const inTree = (node: TopologyNode): boolean => !['nvswitch', 'network', 'memory'].includes(node.kind);
const order = ['cpu', 'root', 'pcie-switch'];

function neighboursOf(links: TopologyLink[]): Map<string, string[]> {
  const neighbours = new Map<string, string[]>();
  const join = (from: string, to: string): void => void neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
  for (const link of links)
    if (!/nvlink|nvswitch/i.test(link.kind)) {
      join(link.a, link.b);
      join(link.b, link.a);
    }
  return neighbours;
}

export function parentsOf(nodes: TopologyNode[], links: TopologyLink[]): Map<string, string> {
  const known = new Map(nodes.map((node) => [node.id, node])), neighbours = neighboursOf(links);
  const parents = new Map<string, string>();
  for (const node of nodes) if (node.parent && known.has(node.parent)) parents.set(node.id, node.parent);
  const reached = new Set(nodes.filter((node) => node.kind === 'cpu').map((node) => node.id));
  const queue = nodes.filter((node) => order.includes(node.kind)).sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind)).map((node) => node.id);
  for (let from = queue.shift(); from !== undefined; from = queue.shift()) {
    reached.add(from);
    for (const to of neighbours.get(from) ?? []) {
      const node = known.get(to);
      if (!node || reached.has(to) || !inTree(node) || node.host !== known.get(from)!.host || parents.get(from) === to) continue;
      reached.add(to);
      if (!parents.has(to)) parents.set(to, from);
      if (!isLeaf(node)) queue.push(to);
    }
  }
  return parents;
}

export class HostTree {
  private readonly children = new Map<string, TopologyNode[]>();
  readonly roots: TopologyNode[] = [];
  readonly depth = new Map<string, number>();

  constructor(nodes: TopologyNode[], parents: Map<string, string>) {
    const own = new Set(nodes.map((node) => node.id));
    for (const node of nodes.filter(inTree)) {
      const parent = parents.get(node.id);
      if (parent === undefined || !own.has(parent)) this.roots.push(node);
      else this.children.set(parent, [...(this.children.get(parent) ?? []), node]);
    }
    this.roots.forEach((root) => this.measure(root, 0));
  }

  below(node: TopologyNode): TopologyNode[] {
    const next = this.depth.get(node.id)! + 1;
    return isLeaf(node) ? [] : (this.children.get(node.id) ?? []).filter((child) => this.depth.get(child.id) === next);
  }
  deepest(): number {
    return Math.max(0, ...this.depth.values());
  }
  private measure(node: TopologyNode, depth: number): void {
    if (this.depth.has(node.id)) return; // a loop in the data
    this.depth.set(node.id, depth);
    (this.children.get(node.id) ?? []).forEach((child) => this.measure(child, depth + 1));
  }
}
