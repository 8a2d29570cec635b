// Where the devices of a machine go: processors on top, their PCIe tree below, GPUs and network cards in one row, NVLink
// and NVSwitch under the GPUs, the network at the bottom. Values in, places out; drawing.ts makes a picture of it.
import type { PageTopology, TopologyLink, TopologyNode } from '../page';
import { HostTree, isLeaf, parentsOf } from './tree';

export interface Place { node: TopologyNode; x: number; y: number; width: number; height: number }
export interface HostBox { host: number; x: number; width: number }
export interface Layout {
  places: Map<string, Place>;
  hosts: HostBox[];
  links: TopologyLink[];
  slot: number; // of a GPU or card
  width: number;
  height: number;
  leafBottom: number;
  hostBottom: number;
  isWhole: boolean; // every host has a place
}

const mostHosts = 3, mostNetworks = 2, narrowSlot = 34;
const rowHeight = 64, boxHeight = 28, top = 26, gap = 24;

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

// Many rails would be a tangle of lines: they become one.
function withOneNetwork(topology: PageTopology): PageTopology {
  const networks = topology.nodes.filter((node) => node.kind === 'network');
  if (networks.length <= mostNetworks) return topology;
  const all = new Set(networks.map((node) => node.id)), one = networks[0]!.id;
  const end = (id: string): string => (all.has(id) ? one : id);
  return { ...topology, nodes: [...topology.nodes.filter((node) => !all.has(node.id)), { ...networks[0]!, name: `network, ${networks.length} switches` }],
    links: topology.links.map((link) => ({ ...link, a: end(link.a), b: end(link.b) })).filter((link) => link.a !== link.b) };
}

const leavesOf = (nodes: TopologyNode[]): number => Math.max(1, nodes.filter(isLeaf).length);

// As many hosts as have room; they are alike.
function shownHosts(nodes: TopologyNode[], available: number): { hosts: number[]; isWhole: boolean } {
  const all = [...new Set(nodes.filter((node) => node.kind !== 'network').map((node) => node.host))].sort((a, b) => a - b);
  let hosts = all.length > mostHosts ? all.slice(0, 2) : all;
  const leaves = (): number => leavesOf(nodes.filter((node) => hosts.includes(node.host)));
  while (hosts.length > 1 && leaves() * narrowSlot > available) hosts = hosts.slice(0, -1);
  return { hosts, isWhole: hosts.length === all.length };
}

class HostLayout {
  right: number;

  constructor(private readonly places: Map<string, Place>, private readonly tree: HostTree, private readonly slot: number, private readonly leafY: number, private readonly left: number) {
    this.right = left + 8;
    tree.roots.forEach((root) => this.walk(root));
  }

  put(node: TopologyNode, x: number, y: number, width: number): void {
    this.places.set(node.id, { node, x, y, width, height: boxHeight });
  }

  // Leaves side by side, everything else above the middle of what hangs below it.
  private walk(node: TopologyNode): number {
    const depth = this.tree.depth.get(node.id)!, y = isLeaf(node) ? this.leafY : top + depth * rowHeight;
    const centres = this.tree.below(node).map((child) => this.walk(child));
    if (centres.length > 0) {
      const centre = (centres[0]! + centres[centres.length - 1]!) / 2;
      this.put(node, centre, y, Math.min(72, Math.max(44, centres.length * this.slot - 6)));
      return centre;
    }
    const centre = this.right + this.slot / 2;
    this.right += this.slot;
    this.put(node, centre, y, Math.min(84, this.slot - 6));
    return centre;
  }

  placeSwitches(nodes: TopologyNode[]): void {
    const gpus = nodes.filter((node) => node.kind === 'gpu').flatMap((node) => this.places.get(node.id) ?? []);
    const switches = nodes.filter((node) => node.kind === 'nvswitch');
    if (gpus.length === 0) return;
    const from = gpus[0]!.x - gpus[0]!.width / 2, to = gpus[gpus.length - 1]!.x + gpus[0]!.width / 2, each = (to - from) / Math.max(1, switches.length);
    switches.forEach((node, at) => this.put(node, from + each * (at + 0.5), this.leafY + rowHeight, each - 4));
  }

  // Beside its processor, away from the next one.
  placeMemory(nodes: TopologyNode[], links: TopologyLink[]): void {
    const cpus = nodes.filter((node) => node.kind === 'cpu');
    for (const memory of nodes.filter((node) => node.kind === 'memory')) {
      const ends = [memory.parent, ...links.flatMap((link) => (link.a === memory.id ? [link.b] : link.b === memory.id ? [link.a] : []))];
      const owner = ends.map((id) => this.places.get(id ?? '')).find((place) => place !== undefined);
      if (owner) this.put(memory, owner.x + (cpus.length > 1 && cpus[0]!.id === owner.node.id ? -1 : 1) * (owner.width / 2 + 48), owner.y, 52);
    }
  }

  box(host: number, nodes: TopologyNode[]): HostBox {
    const own = nodes.flatMap((node) => this.places.get(node.id) ?? []);
    const x = Math.min(this.left, ...own.map((place) => place.x - place.width / 2 - 10));
    this.right = Math.max(this.right + 8, ...own.map((place) => place.x + place.width / 2 + 10));
    return { host, x, width: this.right - x };
  }
}

export function layOut(given: PageTopology, available: number): Layout {
  const topology = withOneNetwork(given);
  const links = cables(topology.links), parents = parentsOf(topology.nodes, links);
  const { hosts: shown, isWhole } = shownHosts(topology.nodes, available);
  const nodesOf = shown.map((host) => topology.nodes.filter((node) => node.kind !== 'network' && node.host === host));
  const leaves = nodesOf.reduce((sum, nodes) => sum + leavesOf(nodes), 0);
  const slot = Math.max(26, Math.min(112, (available - gap * (shown.length + 1)) / leaves));
  const trees = nodesOf.map((nodes) => new HostTree(nodes, parents));
  const leafY = top + Math.max(1, ...trees.map((tree) => tree.deepest())) * rowHeight;
  const places = new Map<string, Place>(), hosts: HostBox[] = [];
  let left = gap / 2;
  nodesOf.forEach((nodes, at) => {
    const host = new HostLayout(places, trees[at]!, slot, leafY, left);
    host.placeSwitches(nodes);
    host.placeMemory(nodes, links);
    hosts.push(host.box(shown[at]!, nodes));
    left = host.right + gap;
  });
  const overhang = Math.max(0, 4 - Math.min(...hosts.map((host) => host.x)));
  for (const place of places.values()) place.x += overhang;
  for (const host of hosts) host.x += overhang;
  const width = left - gap / 2 + overhang;
  const isArc = (link: TopologyLink): boolean => [link.a, link.b].every((id) => places.get(id)?.node.kind === 'gpu');
  const hasSwitch = topology.nodes.some((node) => node.kind === 'nvswitch');
  const hostBottom = leafY + boxHeight + (hasSwitch ? rowHeight : links.some(isArc) ? 62 : 8) + 8;
  const networks = topology.nodes.filter((node) => node.kind === 'network'), each = (width - gap) / Math.max(1, networks.length);
  networks.forEach((node, at) => places.set(node.id, { node, x: gap / 2 + each * (at + 0.5), y: hostBottom + 34, width: each - 6, height: boxHeight }));
  return { places, hosts, links, slot, width, height: hostBottom + (networks.length > 0 ? 78 : 8), leafBottom: leafY + boxHeight, hostBottom, isWhole };
}
