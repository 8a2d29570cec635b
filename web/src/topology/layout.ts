// Where the devices of a machine go: processors on top, their PCIe tree below, GPUs and network cards in one row, NVLink
// and NVSwitch under the GPUs, the network at the bottom. Values in, places out; drawing.ts makes a picture of it.
import type { PageTopology, TopologyLink, TopologyNode } from '../page';

export interface Place { node: TopologyNode; x: number; y: number; width: number; height: number }
export interface HostBox { host: number; x: number; width: number }
export interface Layout {
  places: Map<string, Place>;
  hosts: HostBox[];
  links: TopologyLink[];
  width: number;
  height: number;
  leafBottom: number;
  hostBottom: number;
  hiddenHosts: number;
}

const mostHosts = 3;
const rowHeight = 64, boxHeight = 28, top = 26;
const isLeaf = (node: TopologyNode): boolean => node.kind === 'gpu' || node.kind === 'nic';
const inTree = (node: TopologyNode): boolean => !['nvswitch', 'network', 'memory'].includes(node.kind);

// A cable of two one-way links is drawn once.
export function cables(links: TopologyLink[]): TopologyLink[] {
  const found = new Map<string, TopologyLink>();
  for (const link of links) {
    const key = JSON.stringify([[link.a, link.b].sort(), link.kind]);
    const known = found.get(key);
    if (!known) found.set(key, { ...link });
    else {
      if (link.load !== undefined) known.load = Math.max(known.load ?? 0, link.load);
      if (link.narrowest) known.narrowest = true;
    }
  }
  return [...found.values()];
}

// The tree as given by `parent`, or else as the links reach down from the processors.
function parentsOf(nodes: TopologyNode[], links: TopologyLink[]): Map<string, string> {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map<string, string>();
  for (const node of nodes) if (node.parent && known.has(node.parent)) parents.set(node.id, node.parent);
  const neighbours = new Map<string, string[]>();
  for (const link of links) {
    if (/nvlink|nvswitch/i.test(link.kind)) continue;
    neighbours.set(link.a, [...(neighbours.get(link.a) ?? []), link.b]);
    neighbours.set(link.b, [...(neighbours.get(link.b) ?? []), link.a]);
  }
  const rank = ['cpu', 'root', 'pcie-switch'];
  const starts = nodes.filter((node) => rank.includes(node.kind)).sort((a, b) => rank.indexOf(a.kind) - rank.indexOf(b.kind));
  const reached = new Set(nodes.filter((node) => node.kind === 'cpu').map((node) => node.id));
  for (const queue = starts.map((node) => node.id); queue.length > 0;) {
    const from = queue.shift()!;
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

class HostTree {
  private readonly children = new Map<string, TopologyNode[]>();
  readonly roots: TopologyNode[] = [];
  readonly depth = new Map<string, number>();

  constructor(nodes: TopologyNode[], parents: Map<string, string>) {
    for (const node of nodes.filter(inTree)) {
      const parent = parents.get(node.id);
      if (parent === undefined) this.roots.push(node);
      else this.children.set(parent, [...(this.children.get(parent) ?? []), node]);
    }
    this.roots.forEach((root) => this.measure(root, 0));
  }

  childrenOf(node: TopologyNode): TopologyNode[] {
    return this.children.get(node.id) ?? [];
  }
  deepest(): number {
    return Math.max(0, ...[...this.depth].map(([, depth]) => depth));
  }
  private measure(node: TopologyNode, depth: number): void {
    if (this.depth.has(node.id)) return; // a loop in the data
    this.depth.set(node.id, depth);
    this.childrenOf(node).forEach((child) => this.measure(child, depth + 1));
  }
}

export function layOut(topology: PageTopology, available: number): Layout {
  const allHosts = [...new Set(topology.nodes.filter((node) => node.kind !== 'network').map((node) => node.host))].sort((a, b) => a - b);
  const shownHosts = allHosts.length > mostHosts ? allHosts.slice(0, 2) : allHosts;
  const links = cables(topology.links);
  const parents = parentsOf(topology.nodes, links);
  const hostNodes = shownHosts.map((host) => topology.nodes.filter((node) => node.kind !== 'network' && node.host === host));
  const leafCount = hostNodes.reduce((sum, nodes) => sum + Math.max(1, nodes.filter(isLeaf).length), 0);
  const gap = 24;
  const slot = Math.max(26, Math.min(112, (available - gap * (shownHosts.length + 1)) / leafCount));
  const places = new Map<string, Place>();
  const hosts: HostBox[] = [];
  const trees = hostNodes.map((nodes) => new HostTree(nodes, parents));
  const leafRow = Math.max(1, ...trees.map((tree) => tree.deepest()));
  const leafY = top + leafRow * rowHeight;
  const place = (node: TopologyNode, x: number, y: number, width: number): void =>
    void places.set(node.id, { node, x, y, width, height: boxHeight });

  let left = gap / 2;
  hostNodes.forEach((nodes, index) => {
    const tree = trees[index]!;
    let next = left + 8;
    const leafWidth = Math.min(84, slot - 6);
    const walk = (node: TopologyNode): number => {
      const centres = isLeaf(node) ? [] : tree.childrenOf(node).filter((child) => tree.depth.get(child.id) === tree.depth.get(node.id)! + 1).map(walk);
      if (centres.length === 0) {
        const centre = next + slot / 2;
        next += slot;
        const y = isLeaf(node) ? leafY : top + tree.depth.get(node.id)! * rowHeight;
        place(node, centre, y, isLeaf(node) ? leafWidth : Math.max(60, leafWidth));
        return centre;
      }
      const centre = (centres[0]! + centres[centres.length - 1]!) / 2;
      place(node, centre, top + tree.depth.get(node.id)! * rowHeight, 72);
      return centre;
    };
    tree.roots.forEach(walk);
    const switches = nodes.filter((node) => node.kind === 'nvswitch');
    const gpus = nodes.filter((node) => node.kind === 'gpu').map((node) => places.get(node.id)).filter((found) => found !== undefined);
    if (gpus.length > 0) {
      const first = gpus[0]!, last = gpus[gpus.length - 1]!;
      const span = last.x - first.x + first.width, each = span / Math.max(1, switches.length);
      switches.forEach((node, at) => place(node, first.x - first.width / 2 + each * (at + 0.5), leafY + rowHeight, each - 4));
    }
    for (const memory of nodes.filter((node) => node.kind === 'memory')) {
      const owner = places.get(memory.parent ?? links.find((link) => link.a === memory.id || link.b === memory.id)?.a ?? '')
        ?? places.get(links.find((link) => link.a === memory.id)?.b ?? '');
      const isFirst = nodes.filter((node) => node.kind === 'cpu')[0]?.id === owner?.node.id && nodes.filter((node) => node.kind === 'cpu').length > 1;
      if (owner) place(memory, owner.x + (isFirst ? -1 : 1) * (owner.width / 2 + 48), owner.y, 52);
    }
    const own = nodes.map((node) => places.get(node.id)).filter((found) => found !== undefined);
    const right = Math.max(next + 8, ...own.map((found) => found.x + found.width / 2 + 10));
    const least = Math.min(left, ...own.map((found) => found.x - found.width / 2 - 10));
    hosts.push({ host: shownHosts[index]!, x: least, width: right - least });
    left = right + gap;
  });

  const hasArcs = links.some((link) => places.get(link.a)?.node.kind === 'gpu' && places.get(link.b)?.node.kind === 'gpu');
  const hasSwitch = topology.nodes.some((node) => node.kind === 'nvswitch');
  const hostBottom = leafY + boxHeight + (hasSwitch ? rowHeight : hasArcs ? 62 : 8) + 8;
  const networks = topology.nodes.filter((node) => node.kind === 'network');
  const width = left - gap / 2;
  networks.forEach((node, at) => {
    const each = (width - gap) / networks.length;
    place(node, gap / 2 + each * (at + 0.5), hostBottom + 34, each - 6);
  });
  return { places, hosts, links, width, height: hostBottom + (networks.length > 0 ? 78 : 8), leafBottom: leafY + boxHeight,
    hostBottom, hiddenHosts: allHosts.length - shownHosts.length };
}
