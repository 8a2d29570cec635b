// The timeline among the sections. The view is kept from one answer to the next.
import { el, section } from '../dom';
import { counted } from '../format';
import { PageError, type PageTimeline } from '../page';
import type { Reading } from '../reading';
import { TimelineView } from '../timeline/component';

let view: TimelineView | undefined;

const drawable = (timeline: PageTimeline): boolean =>
  timeline.count > 0 && Array.isArray(timeline.lanes) && Array.isArray(timeline.kinds) && Array.isArray(timeline.names);

function caption(timelines: PageTimeline[]): string {
  const spans = timelines.reduce((sum, timeline) => sum + timeline.count, 0);
  const origins = [...new Set(timelines.map((timeline) => timeline.origin))].join(' and ');
  return `${counted(spans, 'span')}, ${origins}. A gap is idle time.`;
}

export function timelineSection(reading: Reading): HTMLElement | null {
  const timelines = reading.page.timelines.filter(drawable);
  if (timelines.length === 0) return null;
  view ??= new TimelineView();
  const problem = el('p', { class: 'failure', role: 'alert', hidden: true });
  view.showAll(timelines).catch((error: unknown) => {
    problem.textContent = `The timeline cannot be shown: ${error instanceof PageError ? error.message : String(error)}.`;
    problem.hidden = false;
  });
  return section('timeline', 'Timeline', el('p', { class: 'note' }, caption(timelines)), problem, view.element);
}
