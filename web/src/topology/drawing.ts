// A machine as a picture: links as thick as they are loaded during all-reduce, the narrowest one marked.
import { drawnToWidth, el, svg, styled, type Child } from '../dom';
import { counted, plain, rate } from '../format';
import type { PageTopology, TopologyLink } from '../page';
import { scrolling } from '../sections/blocks';
import { layOut, cables, type Layout, type Place } from './layout';

const percent = (load: number): string => `${Math.round(100 * Math.min(1, load))} %`;
const bottom = (place: Place): number => place.y + place.height;

function describe(link: TopologyLink): string {
  const load = link.load === undefined ? '' : `, ${percent(link.load)} used during all-reduce`;
  return `${link.text || `${link.a} to ${link.b}: ${rate(link.gbps)}`}${load}${link.narrowest ? ', the narrowest' : ''}`;
}

// Two places joined by a line that keeps clear of the boxes: down the tree, under the GPUs, or beside each other.
function pathOf(layout: Layout, a: Place, b: Place): { d: string; x: number; y: number; anchor: string } {
  const [upper, lower] = a.y <= b.y ? [a, b] : [b, a];
  if (upper.y !== lower.y) {
    const wide = upper.width > 120 || lower.width > 120; // a switch or network: straight down
    const x1 = wide ? (upper.width > lower.width ? lower.x : upper.x) : upper.x;
    const x2 = wide ? x1 : lower.x;
    const left = x2 < x1;
    return { d: `M${x1} ${bottom(upper)}L${x2} ${lower.y}`, x: x1 + (x2 - x1) * 0.8 + (left ? -8 : 8), y: lower.node.kind === 'network' ? lower.y - 10 : bottom(upper) + (lower.y - bottom(upper)) * 0.62 + 4, anchor: left ? 'end' : 'start' };
  }
  const [first, second] = a.x <= b.x ? [a, b] : [b, a];
  if (first.node.kind !== 'gpu')
    return { d: `M${first.x + first.width / 2} ${first.y + first.height / 2}L${second.x - second.width / 2} ${first.y + first.height / 2}`,
      x: (first.x + first.width / 2 + second.x - second.width / 2) / 2, y: first.y - 3, anchor: 'middle' };
  const depth = Math.min(58, 20 + (second.x - first.x) / 9);
  const y = layout.leafBottom;
  return { d: `M${first.x} ${y}C${first.x + 6} ${y + depth} ${second.x - 6} ${y + depth} ${second.x} ${y}`,
    x: (first.x + second.x) / 2, y: y + depth * 0.75 + 17, anchor: 'middle' };
}

function linkElement(layout: Layout, link: TopologyLink): Child {
  const a = layout.places.get(link.a), b = layout.places.get(link.b);
  if (!a || !b) return null;
  const { d } = pathOf(layout, a, b);
  const load = Math.max(0, Math.min(1, link.load ?? 0));
  const line = styled(svg('path', { d, class: 'wire' }), {
    'stroke-width': `${1.5 + 5 * load}`,
    stroke: load > 0.02 ? `color-mix(in oklab, var(--load-high) ${Math.round(25 + 75 * load)}%, var(--load-low))` : 'var(--wire)' });
  return svg('g', { class: link.narrowest ? 'link narrowest' : 'link' }, svg('path', { d, class: 'reach' }), line,
    svg('title', {}, describe(link)));
}

function rateElement(layout: Layout, link: TopologyLink): Child {
  const a = layout.places.get(link.a), b = layout.places.get(link.b);
  if (!a || !b) return null;
  const { x, y, anchor } = pathOf(layout, a, b), load = link.load ?? 0;
  const note = load > 0.02 ? `${plain(link.gbps)} · ${percent(load)}` : plain(link.gbps);
  return svg('text', { x, y, 'text-anchor': anchor, class: link.narrowest ? 'rate narrowest' : 'rate' }, link.narrowest ? `▸ ${note}` : note);
}

function deviceElement(place: Place): SVGElement {
  const { node, x, y, width, height } = place;
  const letters = Math.floor(width / 7);
  const name = node.name.length > letters ? (node.name.match(/\d+$/)?.[0] ?? node.name.slice(0, Math.max(1, letters))) : node.name;
  return svg('g', { class: `device device-${node.kind.replace(/[^a-z-]/g, '')}` },
    svg('rect', { x: x - width / 2, y, width, height, rx: 5 }),
    svg('text', { x, y: y + height / 2 + 4, 'text-anchor': 'middle' }, name), svg('title', {}, node.name));
}

// A rate beside a line needs room; rates inside a chip are no news.
function hasRoom(layout: Layout, link: TopologyLink): boolean {
  const leaf = [link.a, link.b].some((id) => ['gpu', 'nic'].includes(layout.places.get(id)?.node.kind ?? ''));
  return layout.links.length <= 14 && link.gbps < 1000 && (!leaf || layout.slot > 72);
}

function draw(topology: PageTopology, available: number): Child {
  const layout = layOut(topology, available);
  const { width, height } = layout;
  const loaded = layout.links.filter((link) => layout.places.has(link.a) && layout.places.has(link.b));
  const hosts = layout.hosts.length > 1 || !layout.isWhole ? layout.hosts.map((box) => svg('g', { class: 'host' },
    svg('rect', { x: box.x, y: 4, width: box.width, height: layout.hostBottom - 4, rx: 9 }),
    svg('text', { x: box.x + 8, y: 20 }, `host ${box.host}`))) : [];
  const marked = loaded.find((link) => link.narrowest); // equal ones are drawn alike, one is named
  const sorted = [...loaded].sort((a, b) => Number(a.narrowest ?? false) - Number(b.narrowest ?? false));
  const scale = Math.min(1, Math.max(0.7, available / width)); // a little too wide is made smaller, more scrolls
  const picture = scrolling(`Picture of ${topology.name}`, svg('svg', { width: Math.floor(width * scale), height: Math.ceil(height * scale), viewBox: `0 0 ${width} ${height}`, class: 'machine', role: 'img', 'aria-label': spoken(topology) },
    ...hosts, ...sorted.map((link) => linkElement(layout, link)), ...[...layout.places.values()].map(deviceElement),
    ...sorted.filter((link) => link === marked || hasRoom(layout, link)).map((link) => rateElement(layout, link))));
  return el('div', {}, picture, layout.isWhole ? null : el('p', { class: 'note' }, 'Hosts are alike: not all are drawn.'));
}

function narrowestText(topology: PageTopology): string {
  const link = topology.links.find((one) => one.narrowest);
  if (topology.narrowest) return `Narrowest: ${topology.narrowest}`;
  return link ? `Narrowest: ${link.text || `${link.a} to ${link.b}`}` : '';
}

function spoken(topology: PageTopology): string {
  const gpus = topology.nodes.filter((node) => node.kind === 'gpu').length;
  return `${topology.name}: ${counted(gpus, 'GPU')}. ${narrowestText(topology)}`;
}

function linkTable(topology: PageTopology): HTMLElement {
  const head = el('tr', {}, ...['link', 'GB/s', 'used'].map((name) => el('th', { scope: 'col' }, name)));
  const names = new Map(topology.nodes.map((node) => [node.id, node.name]));
  const rows = cables(topology.links).slice(0, 400).map((link) => el('tr', {},
    el('td', { class: 'left' }, `${names.get(link.a) ?? link.a} – ${names.get(link.b) ?? link.b}, ${link.kind}${link.narrowest ? ' (narrowest)' : ''}`),
    el('td', { class: 'right' }, plain(link.gbps)), el('td', { class: 'right' }, link.load === undefined ? '–' : percent(link.load))));
  return el('details', { class: 'links' }, el('summary', {}, 'All links as a table'),
    scrolling('Links', el('table', {}, el('thead', {}, head), el('tbody', {}, ...rows))));
}

export function machineFigure(topology: PageTopology): HTMLElement {
  return el('figure', { class: 'topology' }, el('figcaption', {}, el('strong', {}, topology.name), ' ', el('span', { class: 'note' }, narrowestText(topology))),
    drawnToWidth(el('div', { class: 'plot-holder' }), (width) => draw(topology, width)),
    linkTable(topology));
}
