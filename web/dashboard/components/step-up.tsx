import { useState } from 'preact/hooks'
import type { ProofMethod } from '../answers.ts'
import { onStepUp } from '../api.ts'
import { Dialog } from './dialog.tsx'
import { ProofForm } from './proof.tsx'

interface Asked {
  methods: ProofMethod[]
  answer: (isProved: boolean) => void
}

/** Opens by itself when the server wants a fresh proof of identity; `send` waits for it and repeats the request. */
export function StepUpDialog() {
  const [asked, setAsked] = useState<Asked>()
  onStepUp((methods) => new Promise((answer) => setAsked({ methods, answer })))
  if (!asked) return null
  const finish = (isProved: boolean) => {
    setAsked(undefined)
    asked.answer(isProved)
  }
  return (
    <Dialog title="Confirm that it is you" onClose={() => finish(false)}>
      <p>This change is protected. You will not be asked again for 10 minutes.</p>
      <ProofForm methods={asked.methods} endpoint="/step-up" submit="Confirm" onDone={() => finish(true)} />
    </Dialog>
  )
}
