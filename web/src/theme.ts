// Light or dark as the system says, until somebody chooses. Kept for this page alone: a file has no cookies to keep.
import { button } from './dom';

const listeners: (() => void)[] = [];
const dark = matchMedia('(prefers-color-scheme: dark)');

export const isDark = (): boolean => {
  const chosen = document.documentElement.dataset['theme'];
  return chosen ? chosen === 'dark' : dark.matches;
};

export const isPrinting = (): boolean => document.documentElement.dataset['printing'] !== undefined;

// Canvases do not follow style sheets: they are drawn again.
export function onThemeChange(run: () => void): void {
  listeners.push(run);
}
const changed = (): void => listeners.forEach((run) => run());

dark.addEventListener('change', changed);
addEventListener('beforeprint', () => {
  document.documentElement.dataset['printing'] = '';
  changed();
});
addEventListener('afterprint', () => {
  delete document.documentElement.dataset['printing'];
  changed();
});

export function themeButton(): HTMLButtonElement {
  const label = (): string => (isDark() ? 'Light' : 'Dark');
  const toggle = button(label(), () => {
    document.documentElement.dataset['theme'] = isDark() ? 'light' : 'dark';
    toggle.textContent = label();
    changed();
  }, { class: 'quiet', title: 'Change between light and dark' });
  return toggle;
}
