/**
 * Chooses the network that a phone number looks like, until the customer chooses one. The form tells the server what
 * was guessed.
 */
export function guessNetwork({ target }: Event): void {
  const field = target as HTMLInputElement
  const { form } = field
  if (!form) return
  if (field.name === 'network') form.dataset.chosen = ''
  if (!field.dataset.guess || 'chosen' in form.dataset) return
  const patterns: Record<string, string> = JSON.parse(field.dataset.guess)
  const prefix = field.parentElement?.querySelector('span')?.textContent?.replace(/\D/g, '') ?? ''
  const digits = field.value.replace(/\D/g, '')
  // In some countries the zero is part of the number.
  const local = field.value.trim().startsWith('+') && digits.startsWith(prefix) ? digits.slice(prefix.length) : digits
  const numbers = [local, local.replace(/^0/, '')]
  for (const radio of form.querySelectorAll<HTMLInputElement>('[name=network]')) {
    const pattern = patterns[radio.value]
    const isLike = pattern !== undefined && numbers.some((number) => new RegExp(pattern).test(number))
    const guess = form.querySelector<HTMLInputElement>('[name=guess]')
    if (!isLike || !guess) continue
    radio.checked = true
    guess.value = radio.value
  }
}
