/** The guides, in the order of the navigation. A page is `docs/{name}.md`, and is served at `/guides/{name}`. */
export interface Entry {
  name: string
  /** For the navigation; the page has its own heading. */
  label: string
  summary: string
}

export const CONTENTS: { heading: string; pages: Entry[] }[] = [
  {
    heading: 'Start',
    pages: [
      { name: 'quickstart', label: 'Quickstart', summary: 'The whole way of a payment, in curl and TypeScript' },
      { name: 'accept-a-payment', label: 'Accept a payment', summary: 'A shop that takes money, in five minutes' },
      { name: 'sandbox', label: 'Test cards and phones', summary: 'Declines, late approvals, faults, lost notices' },
    ],
  },
  {
    heading: 'Take payments',
    pages: [
      { name: 'channels', label: 'Ways to pay', summary: 'Cards, transfers, mobile money, USSD, bank and QR' },
      { name: 'channels/mobile-money', label: 'Mobile money', summary: 'A prompt on the phone of the customer' },
      { name: 'channels/ussd', label: 'USSD', summary: 'A code to dial' },
      { name: 'channels/bank', label: 'Pay with bank', summary: 'The customer approves at the bank' },
      { name: 'channels/qr', label: 'QR codes', summary: 'A code to scan' },
      { name: 'returning', label: 'The customer returns', summary: 'Return parameters, and a complete shop' },
      { name: 'payment-page', label: 'The payment page', summary: 'Methods, requests on the phone, languages' },
      { name: 'widget', label: 'The widget', summary: 'The payment page in a window over your shop' },
      { name: 'links', label: 'Payment links', summary: 'One link for many customers' },
      { name: 'shops', label: 'Shops', summary: 'Plug-ins, a shop of your own, and a check of it' },
      { name: 'alerts', label: 'Alerts', summary: 'Who hears of disputes, cases and failures' },
      { name: 'receipts', label: 'Receipts', summary: 'By e-mail, and a page to print' },
      { name: 'branding', label: 'Branding', summary: 'Your name, logo and colour on the page' },
    ],
  },
  {
    heading: 'Know what happened',
    pages: [
      { name: 'webhooks', label: 'Webhooks', summary: 'Events, signatures, retries; handlers to copy' },
      { name: 'refunds-and-disputes', label: 'Refunds and disputes', summary: 'Money that goes back' },
      { name: 'settlements', label: 'Settlements', summary: 'What reached your bank, for which payments, at what fee' },
      { name: 'exports', label: 'Exports', summary: 'Payments, refunds and deliveries as CSV' },
      { name: 'dashboard', label: 'The dashboard', summary: 'Screens, roles and sign-in' },
    ],
  },
  {
    heading: 'Rules of the API',
    pages: [
      { name: 'errors', label: 'Errors by code', summary: 'What each code means, and what to do' },
      { name: 'idempotency', label: 'Idempotency', summary: 'Repeat a request without paying twice' },
      { name: 'versioning', label: 'Versioning', summary: 'What can change, and what never does' },
    ],
  },
  {
    heading: 'Go live',
    pages: [
      { name: 'going-live', label: 'Checklist', summary: 'What to do before you take real money' },
      { name: 'integrations', label: 'Integrations', summary: 'Provider keys, order, notice URLs' },
      { name: 'providers/paystack', label: 'Paystack', summary: 'Cards in five countries, account numbers in NGN' },
      {
        name: 'providers/flutterwave',
        label: 'Flutterwave',
        summary: 'Cards in four countries, account numbers in NGN',
      },
      { name: 'providers/monnify', label: 'Monnify', summary: 'Cards and account numbers in Nigeria' },
      {
        name: 'providers/mpesa',
        label: 'M-PESA Daraja',
        summary: 'Mobile money in Kenya, with your own paybill or till',
      },
      { name: 'providers/pawapay', label: 'pawaPay', summary: 'Mobile money in the countries of your account' },
      { name: 'providers/stripe', label: 'Stripe', summary: 'Cards from all countries' },
    ],
  },
  {
    heading: 'Operate',
    pages: [
      { name: 'settings', label: 'Settings', summary: 'Every environment variable' },
      { name: 'cli', label: 'The command line', summary: 'Merchants, members, payments and checks by command' },
      { name: 'operations/deployment', label: 'Deployment', summary: 'Processes, roles, updates' },
      { name: 'operations/database', label: 'Database', summary: 'Connections, PgBouncer, a replica for reading' },
      { name: 'operations/upgrade', label: 'Upgrade', summary: 'Without a pause, and how to write a migration' },
      { name: 'operations/keys', label: 'Keys', summary: 'Limits of credentials; how to change each key' },
      { name: 'operations/backup', label: 'Backup and restore', summary: 'What to keep, and how to get it back' },
      { name: 'operations/retention', label: 'Retention', summary: 'What is deleted when, and how much disk it needs' },
      { name: 'operations/failover', label: 'Failover', summary: 'PostgreSQL that survives the loss of a machine' },
      { name: 'operations/metrics', label: 'Metrics', summary: 'Prometheus, alerts and a Grafana dashboard' },
      { name: 'operations/traces', label: 'Traces', summary: 'From your request to your webhook, with OpenTelemetry' },
      { name: 'operations/incidents', label: 'Incidents', summary: 'What to do for each alert' },
      { name: 'performance', label: 'Performance', summary: 'What is measured, the targets, and how to compare' },
      { name: 'proof', label: 'Proof', summary: 'What was tested at release size, and what was not' },
    ],
  },
  {
    heading: 'Migrate',
    pages: [
      { name: 'migrate-from-paystack', label: 'From Paystack', summary: 'Popup and inline, call by call' },
      { name: 'migrate-from-stripe', label: 'From Stripe Checkout', summary: 'Sessions and events, call by call' },
    ],
  },
]

export const PAGES: Entry[] = CONTENTS.flatMap(({ pages }) => pages)
