import type { Static } from 'typebox'
import type * as attempt from '../src/http/contract/attempt.ts'
import type { CheckoutAnswer } from '../src/http/contract/checkout.ts'
import type { DisputesAnswer } from '../src/http/contract/dispute.ts'
import type { KeysAnswer } from '../src/http/contract/integration.ts'
import type { LinkAnswer, LinksAnswer } from '../src/http/contract/link.ts'
import type { PaymentAnswer } from '../src/http/contract/payment.ts'
import type * as settlement from '../src/http/contract/settlement.ts'
import type * as webhook from '../src/http/contract/webhook.ts'
import type * as payments from '../src/http/dashboard/payments-contract.ts'
import type * as providers from '../src/http/dashboard/providers-contract.ts'
import type * as screens from '../src/http/dashboard/settlements-contract.ts'
import type * as money from '../web/dashboard/money-answers.ts'
import type * as web from '../web/dashboard/payment-answers.ts'
import type * as settled from '../web/dashboard/settlement-answers.ts'

/** Checked by the compiler: each answer of the server has the type that the dashboard's pages expect. */
type Fits<Expected, Answer extends Expected> = Answer

export type Checked = [
  Fits<web.Page<web.PaymentRow>, Static<typeof payments.PaymentsAnswer>>,
  Fits<web.Payment, Static<typeof PaymentAnswer>['data']>,
  Fits<web.TimelineEntry[], Static<typeof attempt.Timeline>['data']>,
  Fits<web.Checkout, Static<typeof CheckoutAnswer>['data']>,
  Fits<web.PaymentLink, Static<typeof LinkAnswer>['data']>,
  Fits<web.Page<web.PaymentLink>, Static<typeof LinksAnswer>>,
  Fits<web.Page<web.RefundRow>, Static<typeof payments.RefundsAnswer>>,
  Fits<web.Page<web.Delivery>, Static<typeof payments.DeliveriesAnswer>>,
  Fits<web.EventWithDeliveries['deliveries'], Static<typeof webhook.EventAnswer>['data']['deliveries']>,
  Fits<web.Endpoint[], Static<typeof webhook.EndpointsAnswer>['data']>,
  Fits<web.NewEndpoint, Static<typeof webhook.NewEndpointAnswer>['data']>,
  Fits<web.NewSecret, Static<typeof webhook.SecretAnswer>['data']>,
  Fits<web.EndpointTest, Static<typeof webhook.TestAnswer>['data']>,
  Fits<web.ProviderRow[], Static<typeof providers.ProvidersAnswer>['data']>,
  Fits<web.Page<money.CustomerRow>, Static<typeof payments.CustomersAnswer>>,
  Fits<money.Customer, Static<typeof payments.CustomerAnswer>['data']>,
  Fits<money.Erasure, Static<typeof payments.ErasureAnswer>['data']>,
  Fits<web.Page<money.Dispute>, Static<typeof DisputesAnswer>>,
  Fits<web.KeysVerdict, Static<typeof KeysAnswer>['data']>,
  Fits<web.Page<settled.Settlement>, Static<typeof settlement.SettlementsAnswer>>,
  Fits<settled.SettlementWithSums, Static<typeof settlement.SettlementAnswer>['data']>,
  Fits<web.Page<settled.SettlementLine>, Static<typeof settlement.SettlementLinesAnswer>>,
  Fits<web.Page<settled.Unsettled>, Static<typeof settlement.UnsettledAnswer>>,
  Fits<settled.UnsettledSum[], Static<typeof settlement.UnsettledSumsAnswer>['data']>,
  Fits<settled.ChargedFees[], Static<typeof settlement.ChargedFeesAnswer>['data']>,
  Fits<settled.PaymentSettlement[], screens.PaymentSettlementsAnswer['data']>,
  Fits<settled.OddLine[], screens.OddLinesAnswer['data']>,
  Fits<settled.MoneySum[], screens.MoneyAnswer['data']>,
]
