import { useState } from 'preact/hooks'
import type { RecoveryCodes, SecondFactors, Totp } from '../../answers.ts'
import { send } from '../../api.ts'
import { CodeField } from '../../components/account-fields.tsx'
import { Copyable } from '../../components/copy.tsx'
import { useAction } from '../../components/data.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Form } from '../../components/form.tsx'
import { ProblemText } from '../../components/problem.tsx'
import { QrCode } from '../../components/qr-code.tsx'
import { Section } from '../../components/screen.tsx'
import { Status } from '../../components/status.tsx'
import { announce } from '../../components/toasts.tsx'
import { FACTORS } from './paths.ts'

export function AuthenticatorApp({ factors }: { factors: SecondFactors }) {
  const [codes, setCodes] = useState<string[]>()
  const start = useAction({ run: () => send<Totp>('POST', '/account/totp') })
  const remove = useAction({
    run: () => send('DELETE', '/account/totp'),
    refresh: [FACTORS],
    done: 'Authenticator app removed',
  })
  const renew = useAction({
    run: () => send<RecoveryCodes>('POST', '/account/recovery-codes'),
    refresh: [FACTORS],
    onDone: (answer) => setCodes(answer.codes),
  })
  const about = 'A code from an app on your phone, after your password.'
  return (
    <Section
      title="Authenticator app"
      about={about}
      actions={
        !factors.totp && (
          <button type="button" aria-busy={start.isPending} onClick={() => start.mutate()}>
            Set up
          </button>
        )
      }
    >
      <ProblemText error={start.error ?? remove.error ?? renew.error} />
      {factors.totp && (
        <ul class="rows">
          <li>
            <Status tone="good">On</Status>
            <button type="button" aria-busy={remove.isPending} onClick={() => remove.mutate()}>
              Remove the app
            </button>
          </li>
          <li>
            <div>
              <div class="cell-main">Recovery codes</div>
              <div class="cell-more">
                {factors.recoveryCodesLeft} of 10 left. Each signs you in once, without the app.
              </div>
            </div>
            <button type="button" aria-busy={renew.isPending} onClick={() => renew.mutate()}>
              New codes
            </button>
          </li>
        </ul>
      )}
      {start.data && <SetUp totp={start.data} onClose={start.reset} onCodes={setCodes} />}
      {codes && <ShowCodes codes={codes} onClose={() => setCodes(undefined)} />}
    </Section>
  )
}

interface SetUpParts {
  totp: Totp
  onClose: () => void
  onCodes: (codes: string[]) => void
}

function SetUp({ totp, onClose, onCodes }: SetUpParts) {
  const [code, setCode] = useState('')
  const action = useAction({
    run: () => send<RecoveryCodes>('POST', '/account/totp/confirm', { code }),
    refresh: [FACTORS],
    onDone: ({ codes }) => {
      onClose()
      onCodes(codes)
    },
  })
  return (
    <Dialog title="Set up an authenticator app" onClose={onClose}>
      <p>Scan this code with the app.</p>
      <QrCode text={totp.address} label="QR code for the authenticator app" />
      <details>
        <summary>Enter a key instead</summary>
        <Copyable label="key" text={totp.secret} />
      </details>
      <Form submit="Confirm" action={action} onCancel={onClose}>
        <CodeField label="Code that the app shows" value={code} onText={setCode} />
      </Form>
    </Dialog>
  )
}

function ShowCodes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  async function copy() {
    await navigator.clipboard.writeText(codes.join('\n')).then(
      () => announce('Recovery codes copied'),
      () => announce('Copying was refused. Select the codes and copy them.'),
    )
  }
  return (
    <Dialog title="Your recovery codes" onClose={onClose}>
      <p>Keep them where you find them without your phone. Each works once. They are not shown again.</p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="form-actions">
        <button type="button" onClick={copy}>
          Copy all
        </button>
        <button type="button" class="primary first" onClick={onClose}>
          I have saved them
        </button>
      </div>
    </Dialog>
  )
}
