import type { MerchantId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { NoticeReading } from '../../providers/provider.ts'

/** What a provider told us, as it said it. */
export interface Notice {
  id: number
  merchantId: MerchantId
  mode: Mode
  provider: string
  /** The account whose key signed it. */
  account: number
  /** What its adapter read in it when it came, after the signature held. */
  reading: Exclude<NoticeReading, { kind: 'forged' | 'hint' }>
}

/** `waiting` is worked off; `unmatched` names nothing of ours and is for a person to look at. */
export type NoticeState = 'waiting' | 'done' | 'ignored' | 'unmatched'

export const MAX_NOTICE_BYTES = 256 * 1024
