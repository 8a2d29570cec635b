// A page being read: which of the report's blocks a section has shown already, so that nothing is said twice and
// nothing is lost. Blocks fall into groups, as a reader sees them: a title and what follows up to the next title or gap.
import type { Block, PageData } from './page';

export interface Group {
  title: string;
  blocks: Block[];
}

export class Reading {
  private readonly used = new Set<Block>();
  readonly groups: Group[];

  constructor(readonly page: PageData) {
    this.groups = groupsOf(page.blocks);
  }

  use(...blocks: Block[]): void {
    blocks.forEach((block) => this.used.add(block));
  }

  left(blocks: Block[] = this.page.blocks): Block[] {
    return blocks.filter((block) => !this.used.has(block));
  }

  // The unused blocks of a kind; the caller decides whether it shows them.
  leftOf<Kind extends Block['kind']>(kind: Kind): Extract<Block, { kind: Kind }>[] {
    return this.left().filter((block): block is Extract<Block, { kind: Kind }> => block.kind === kind);
  }

  groupTitled(beginning: string): Group | undefined {
    return this.groups.find((group) => group.title.startsWith(beginning));
  }

  sentenceBeginning(beginning: string): string | undefined {
    const found = this.leftOf('sentence').find((block) => block.text.trim().startsWith(beginning));
    if (found) this.use(found);
    return found?.text.trim();
  }
}

function groupsOf(blocks: Block[]): Group[] {
  const groups: Group[] = [{ title: '', blocks: [] }];
  for (const block of blocks) {
    const last = groups[groups.length - 1]!;
    if (block.kind === 'gap') groups.push({ title: '', blocks: [] });
    else if (block.kind === 'title' && (last.blocks.length > 0 || last.title))
      groups.push({ title: block.text, blocks: [block] });
    else {
      if (block.kind === 'title') last.title = block.text;
      last.blocks.push(block);
    }
  }
  return groups.filter((group) => group.blocks.length > 0);
}
