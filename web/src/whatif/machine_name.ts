// Names of machines as the command takes them: 2x-rtx3090-nvlink, 4*dgx-h100@ndr. Taken apart for the knobs and put
// together again.

export interface MachineParts {
  nodes: number;
  network: string; // '' for one node
  base: string; // a preset or COUNTx-GPU-LINK
}
export interface BaseParts { count: number; gpu: string; link: string }

export function takeApart(name: string): MachineParts {
  const found = /^(?:(\d+)\*)?([^@]*)(?:@(.*))?$/.exec(name.trim());
  return { nodes: Number(found?.[1] ?? 1) || 1, base: found?.[2] ?? name, network: found?.[3] ?? '' };
}

export function putTogether({ nodes, network, base }: MachineParts): string {
  return nodes > 1 ? `${nodes}*${base}${network ? `@${network}` : ''}` : base;
}

export function baseParts(base: string, gpus: string[]): BaseParts | null {
  const found = /^(\d+)x-(.+)$/.exec(base);
  if (!found) return null;
  const rest = found[2]!;
  const gpu = [...gpus].sort((a, b) => b.length - a.length).find((id) => rest === id || rest.startsWith(`${id}-`));
  if (!gpu) return null;
  return { count: Number(found[1]), gpu, link: rest.slice(gpu.length + 1) };
}

export function baseName({ count, gpu, link }: BaseParts): string {
  return count === 1 || !link ? `${count}x-${gpu}` : `${count}x-${gpu}-${link}`;
}
