// `npm run gate -- live`: compares the answers of the providers' real sandboxes with those of our fakes, for each whose
// keys are in the environment.
// `npm run gate -- live monnify` runs one provider, with the keys that it publishes if the environment has none.
import { readKeys } from './keys.ts'
import { askAll } from './questions.ts'
import { isReachable } from './reach.ts'
import { SANDBOXES } from './sandboxes.ts'

const chosen = process.argv.slice(2)
const names = SANDBOXES.map(({ provider }) => provider.capabilities.name)
for (const name of chosen.filter((name) => !names.includes(name))) {
  console.log(`✗ ${name} has no sandbox here; there are ${names.join(', ')}`)
  process.exitCode = 1
}

for (const sandbox of SANDBOXES) {
  const { name } = sandbox.provider.capabilities
  const isChosen = chosen.includes(name)
  if (chosen.length > 0 && !isChosen) continue
  const keys = readKeys(sandbox.provider, process.env, isChosen ? sandbox.sharedKeys : undefined)
  if (keys.kind === 'none') {
    const orShared = sandbox.sharedKeys ? `; or run npm run gate -- live ${name}, with the keys that it publishes` : ''
    console.log(`${isChosen ? '✗' : '–'} ${name} is left out: ${keys.hint}${orShared}`)
    if (isChosen) process.exitCode = 1
  } else if (keys.kind === 'wrong') {
    console.log(`✗ ${name} is not asked: ${keys.because}`)
    process.exitCode = 1
  } else if (!(await isReachable(keys.baseURL))) {
    console.log(`✗ ${name} is not asked: ${keys.baseURL} cannot be reached from here. This needs internet access.`)
    process.exitCode = 1
  } else {
    for await (const { question, wrong } of askAll(sandbox, keys)) {
      console.log(wrong === undefined ? `✓ ${name}: ${question}` : `✗ ${name}: ${question}: ${wrong}`)
      if (wrong !== undefined) process.exitCode = 1
    }
  }
}
