import type { Channel as OurChannel } from '../../../kernel/channel.ts'
import { feeOf } from '../../../kernel/fee.ts'
import { offerOf } from '../../capabilities.ts'
import { capabilities } from '../capabilities.ts'
import type { Channel } from './record.ts'

/** Its words for our channels. */
const OURS: Record<Channel, OurChannel> = {
  card: 'card',
  transfer: 'virtual-bank-account',
  'mobile-money': 'mobile-money',
  ussd: 'ussd',
  bank: 'bank',
  qr: 'qr',
}

/** What the provider keeps of a charge or transfer. */
export function feeOfTransaction(channel: Channel, currency: string, amount: number): number {
  const ours = OURS[channel]
  const offer = offerOf(capabilities, ours, currency)
  return offer ? feeOf(offer.fee, amount) : 0
}
