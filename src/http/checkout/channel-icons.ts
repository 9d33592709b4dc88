import type { Channel } from '../../kernel/channel.ts'
import { Html } from '../../kernel/html.ts'

export const CHANNEL_ICONS: Record<Channel, Html> = {
  card: new Html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="2.5" y="5" width="19" height="14" rx="2.5"/><path d="M2.5 10h19"/></svg>',
  ),
  'virtual-bank-account': new Html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 9.5 12 4l9 5.5M5 10v8m4.7-8v8m4.6-8v8M19 10v8M3 20h18"/></svg>',
  ),
}
