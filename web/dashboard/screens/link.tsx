import { useState } from 'preact/hooks'
import { Link, useParams } from 'wouter-preact'
import { send } from '../api.ts'
import { Copyable } from '../components/copy.tsx'
import { useAction, useData } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { download } from '../components/download.ts'
import { LinkForm } from '../components/link-form.tsx'
import { LinkStatusMark, linkAmount, timesPaid } from '../components/link-status.tsx'
import { ProblemPanel, ProblemText } from '../components/problem.tsx'
import { QrCode, qrPng, qrSvg } from '../components/qr-code.tsx'
import { Facts, Screen, Section } from '../components/screen.tsx'
import { announce } from '../components/toasts.tsx'
import { Time } from '../components/values.tsx'
import type { PaymentLink } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

export default function LinkScreen() {
  const merchant = useMerchant()
  const { link: id = '' } = useParams<{ link: string }>()
  const { data: link, error, refetch } = useData<PaymentLink>(merchant.api(`/links/${encodeURIComponent(id)}`))
  if (!link)
    return (
      <Screen title="Link">
        {error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>}
      </Screen>
    )
  return <Loaded key={link.id} link={link} />
}

function Loaded({ link }: { link: PaymentLink }) {
  const merchant = useMerchant()
  const path = merchant.api('/links')
  const [isChanging, setChanging] = useState(false)
  const toggle = useAction({
    run: () => send<PaymentLink>('PATCH', `${path}/${link.id}`, { active: !link.active }),
    refresh: [path, `${path}/${link.id}`],
    done: link.active ? 'Link switched off' : 'Link switched on',
  })
  const actions = (
    <>
      <Link class="button" href={merchant.path(`/payments?q=${link.id}`)}>
        Its payments
      </Link>
      {merchant.may('payments') && (
        <>
          <button type="button" aria-busy={toggle.isPending} onClick={() => toggle.mutate()}>
            {link.active ? 'Switch off' : 'Switch on'}
          </button>
          <button type="button" onClick={() => setChanging(true)}>
            Change
          </button>
        </>
      )}
    </>
  )
  return (
    <Screen
      title={link.title}
      about={
        <span class="facts">
          <LinkStatusMark {...link} />
          <span>{linkAmount(link)}</span>
        </span>
      }
      actions={actions}
    >
      <ProblemText error={toggle.error} />
      <div class="link-screen">
        <div>
          <Section title="Share" about={sharing(link)}>
            <Copyable label="link" text={link.url} />
          </Section>
          <Section title="Details">
            <Facts
              facts={[
                ['Description', link.description],
                ['Amount', linkAmount(link)],
                ['Asks for', collected(link).join(', ')],
                ['Paid', timesPaid(link)],
                ['Fees', link.customerBearsCharge ? 'Paid by the customer' : 'Paid by you'],
                [link.status === 'expired' ? 'Expired' : 'Ends', <Time key="ends" at={link.expiresAt} />],
                ['Goes to', link.redirectURL],
                ['Country', link.country],
                ['Created', <Time key="created" at={link.createdAt} />],
                ['Id', <code key="id">{link.id}</code>],
              ]}
            />
          </Section>
          {Object.keys(link.metadata).length > 0 && (
            <Section title="Metadata">
              <Facts facts={Object.entries(link.metadata)} />
            </Section>
          )}
        </div>
        <Code link={link} />
      </div>
      {isChanging && (
        <Dialog title="Change link" onClose={() => setChanging(false)}>
          <LinkForm link={link} onClose={() => setChanging(false)} onDone={() => setChanging(false)} />
        </Dialog>
      )}
    </Screen>
  )
}

function sharing({ status }: PaymentLink): string {
  switch (status) {
    case 'active':
      return 'Everybody who has it can pay.'
    case 'inactive':
      return 'It is switched off: its page says so and takes no payments.'
    case 'expired':
      return 'It has expired: its page says so. Change it to let it end later.'
    case 'used_up':
      return 'It was paid as often as it may be. Change it to allow more.'
  }
}

function collected({ collectName, collectPhoneNumber, customField }: PaymentLink): string[] {
  const fields = ['E-mail address', collectName && 'name', collectPhoneNumber && 'phone number', customField]
  return fields.filter((field) => typeof field === 'string')
}

/** The QR code, to save and to print. */
function Code({ link: { id, url, title } }: { link: PaymentLink }) {
  const merchant = useMerchant()
  async function savePng() {
    const png = await qrPng(url)
    if (png) download(`${fileName(title)}.png`, png)
    else announce('This browser cannot make pictures. Use the SVG.')
  }
  return (
    <Section title="QR code">
      <div class="link-qr">
        <QrCode text={url} label={`QR code of ${url}`} />
        <div class="actions">
          <button type="button" onClick={() => download(`${fileName(title)}.svg`, qrSvg(url))}>
            Save as SVG
          </button>
          <button type="button" onClick={savePng}>
            Save as PNG
          </button>
          <Link class="button" href={merchant.path(`/links/${id}/poster`)}>
            Poster
          </Link>
        </div>
      </div>
    </Section>
  )
}

/** Letters and digits of the title, for a file. */
function fileName(title: string): string {
  const plain = title.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '')
  return plain.slice(0, 60).toLowerCase() || 'link'
}
