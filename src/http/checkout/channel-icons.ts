import type { Channel } from '../../kernel/channel.ts'
import { Html } from '../../kernel/html.ts'

export const CHANNEL_ICONS: Record<Channel, Html> = {
  card: new Html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="2.5" y="5" width="19" height="14" rx="2.5"/><path d="M2.5 10h19"/></svg>',
  ),
  'virtual-bank-account': new Html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 8h16l-4-4m4 12H4l4 4"/></svg>',
  ),
  'mobile-money': new Html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="7" y="2.5" width="10" height="19" rx="2"/><path d="M11 18.5h2"/></svg>',
  ),
  ussd: new Html('<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M9 4 7 20m10-16-2 16M4 9h17M3 15h17"/></svg>'),
  bank: new Html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 9.5 12 4l9 5.5M5 10v8m4.7-8v8m4.6-8v8M19 10v8M3 20h18"/></svg>',
  ),
  qr: new Html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2z"/></svg>',
  ),
}
