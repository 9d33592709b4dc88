import type { ComponentChildren } from 'preact'

/** What a state means for the reader. Each has its own shape, so that colour is never the only sign. */
export type Tone = 'good' | 'bad' | 'waiting' | 'attention' | 'neutral'

const SHAPES: Record<Tone, ComponentChildren> = {
  good: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  bad: <path d="m1.5 1.5 7 7m0-7-7 7" stroke="currentColor" stroke-width="2" stroke-linecap="round" />,
  waiting: <circle cx="5" cy="5" r="3.5" fill="none" stroke="currentColor" stroke-width="1.5" />,
  attention: <path d="M5 1 9.3 8.8H.7Z" fill="currentColor" />,
  neutral: <path d="M1.5 5h7" stroke="currentColor" stroke-width="2" stroke-linecap="round" />,
}

/** A word, a shape and a colour. */
export function Status({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`status ${tone}`}>
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        {SHAPES[tone]}
      </svg>
      {children}
    </span>
  )
}
