import { Link, useParams } from 'wouter-preact'
import { useData } from '../components/data.ts'
import { linkAmount } from '../components/link-status.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { Screen } from '../components/screen.tsx'
import type { PaymentLink } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

/** A sheet of paper for a counter or a wall. The style sheet for print leaves the rest of the page out. */
export default function Poster() {
  const merchant = useMerchant()
  const { link: id = '' } = useParams<{ link: string }>()
  const { data: link, error, refetch } = useData<PaymentLink>(merchant.api(`/links/${encodeURIComponent(id)}`))
  const actions = (
    <>
      <Link class="button" href={merchant.path(`/links/${id}`)}>
        Back to the link
      </Link>
      <button type="button" class="primary" disabled={!link} onClick={() => window.print()}>
        Print
      </button>
    </>
  )
  return (
    <Screen title="Poster" about="One page of paper, or a PDF." actions={actions}>
      {link ? (
        <article class="poster">
          <p class="from">{merchant.name}</p>
          <h2>{link.title}</h2>
          {link.description && <p>{link.description}</p>}
          <p class="price">{linkAmount(link)}</p>
          <QrCode text={link.url} label={`QR code of ${link.url}`} />
          <p>Scan with the camera of your phone to pay.</p>
          <p class="address">{link.url.replace(/^https?:\/\//, '')}</p>
        </article>
      ) : error ? (
        <ProblemPanel error={error} retry={refetch} />
      ) : (
        <p class="late">Loading …</p>
      )}
    </Screen>
  )
}
