// `npm run gate -- contracts`: validates every request to the providers that publish an OpenAPI description, and every
// start of a payment at those that publish other rules.
import { CONTRACTS, checkContract } from './check.ts'
import { checkStarts, START_RULES } from './check-starts.ts'

let isRight = true
for (const contract of CONTRACTS) {
  const { calls, wrong } = await checkContract(contract)
  const rows = [...calls].map(([call, { times, during, gaps }]) => [
    ...[call, `${times}`, [...during].join(', ')],
    [...gaps].map(({ name }) => name).join(', '),
  ])
  print(contract.name, [['call', 'requests', 'made by', 'gaps needed'], ...rows])
  for (const { name, call, field, value, because, source } of contract.gaps) {
    console.log(`gap “${name}”: ${call}, ${field}${value ? ` ${value}` : ''}: ${because} (${source})`)
  }
  for (const sentence of wrong) console.log(`✗ ${sentence}`)
  console.log(wrong.length === 0 ? `✓ ${contract.name} is asked as it says it wants to be\n` : '')
  if (wrong.length > 0) isRight = false
}
for (const rules of START_RULES) {
  const { times, wrong } = await checkStarts(rules)
  print(rules.name, [['start', 'requests'], ...[...times].map(([type, count]) => [type, `${count}`])])
  for (const { type, field, value, because, source } of rules.gaps) {
    console.log(`gap: ${type}, ${field}${value ? ` ${value}` : ''}: ${because} (${source})`)
  }
  for (const sentence of wrong) console.log(`✗ ${sentence}`)
  console.log(wrong.length === 0 ? `✓ ${rules.name} is asked to start as it says it wants to be\n` : '')
  if (wrong.length > 0) isRight = false
}
process.exitCode = isRight ? 0 : 1

function print(title: string, rows: string[][]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  console.log(title)
  for (const row of rows)
    console.log(`  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
}
