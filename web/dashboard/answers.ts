import type { Static } from 'typebox'
import type * as Contract from '../../src/http/dashboard/contract.ts'
import type * as MailsContract from '../../src/http/dashboard/mails-contract.ts'
import type * as OperatorContract from '../../src/http/dashboard/operator-contract.ts'
import type * as OverviewContract from '../../src/http/dashboard/overview-contract.ts'
import type * as SettingsContract from '../../src/http/dashboard/settings-contract.ts'
import type { ViewAnswer } from '../../src/http/dashboard/views-contract.ts'

/** The answers of the endpoints, from the schemas that the server checks them with. */
export type Session = Contract.SessionAnswer['data']
export type MerchantAccess = Session['merchants'][number]
export type Permission = MerchantAccess['permissions'][number]
export type Role = MerchantAccess['role']
export type Mode = MerchantAccess['modes'][number]
export type SignedIn = Static<typeof Contract.SignInAnswer>['data']
export type OneTimeLink = Static<typeof Contract.OneTimeLinkAnswer>['data']
export type WelcomeLink = Static<typeof Contract.LinkAnswer>['data']
export type Sessions = Static<typeof Contract.SessionsAnswer>['data']
export type SecondFactors = Static<typeof Contract.SecondFactorsAnswer>['data']
export type Totp = Static<typeof Contract.TotpAnswer>['data']
export type RecoveryCodes = Static<typeof Contract.RecoveryCodesAnswer>['data']
export type Members = Static<typeof Contract.MembersAnswer>['data']
export type FirstSteps = Static<typeof Contract.FirstStepsAnswer>['data']
export type Overview = OverviewContract.OverviewAnswer['data']
export type Charts = OverviewContract.Charts
export type Sums = OverviewContract.Sums
export type Group = OverviewContract.Group
export type AuditPage = Static<typeof Contract.AuditAnswer>
export type ApiKeys = Static<typeof Contract.ApiKeysAnswer>['data']
export type ApiKeyRequest = Static<typeof Contract.ApiKeyRequest>
export type NewApiKey = Static<typeof Contract.NewApiKeyAnswer>['data']
export type Branding = SettingsContract.BrandingAnswer['data']
export type Contrast = SettingsContract.ContrastAnswer['data']
export type Settings = SettingsContract.SettingsAnswer['data']
export type Receipts = MailsContract.ReceiptsAnswer['data']
export type Alerts = MailsContract.AlertsAnswer['data']
export type AlertKind = Alerts['kinds'][number]
export type SavedView = Static<typeof ViewAnswer>['data']
export type MerchantsPage = OperatorContract.MerchantsAnswer
export type ListedMerchant = MerchantsPage['data'][number]
export type NewMerchant = OperatorContract.NewMerchantAnswer['data']
export type System = OperatorContract.SystemAnswer['data']
/** A way to prove the identity. `password` counts for a member without a second factor only. */
export type ProofMethod = SignedIn['methods'][number] | 'password'
