import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkStarts, START_RULES } from './check-starts.ts'

for (const rules of START_RULES) {
  test(`every request to ${rules.name} that starts a payment is one that its own rules accept, or a listed gap`, async () => {
    const { times, wrong } = await checkStarts(rules)
    assert.deepEqual(wrong, [])
    assert.deepEqual([...times.keys()].sort(), Object.keys(rules.rules).sort())
  })
}

test('a request that the rules refuse is told', async () => {
  const [flutterwave] = START_RULES
  assert.ok(flutterwave)
  const { ussd, ...others } = flutterwave.rules
  const changed = { ...flutterwave, rules: { ...others, ussd: { ...ussd, required: ['pin'] } } }
  assert.match((await checkStarts(changed)).wrong.join(), /^ussd: body\.pin is against the rule “missing”/)
})
