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
  const digits = field.value.replace(/\D/g, '')
  // All these countries have a prefix of three digits. In some the zero is part of the number.
  const numbers = field.value.trim()[0] === '+' ? [digits.slice(3)] : [digits, digits.replace(/^0/, '')]
  for (const [network, begins] of Object.entries(patterns)) {
    const radio = form.querySelector<HTMLInputElement>(`[value="${network}"]`)
    if (!radio || !numbers.some((number) => new RegExp(begins).test(number))) continue
    radio.checked = true
    form.guess.value = network
  }
}
