// `npm run live`: puts to the providers' real sandboxes what the fakes of our tests answer, for each whose keys are in the environment.
import { readKeys } from './keys.ts'
import { askAll } from './questions.ts'
import { SANDBOXES } from './sandboxes.ts'

for (const sandbox of SANDBOXES) {
  const { name } = sandbox.provider.capabilities
  const keys = readKeys(sandbox.provider, process.env)
  if (keys.kind === 'none') {
    console.log(`– ${name} is left out: ${keys.hint}`)
  } else if (keys.kind === 'wrong') {
    console.log(`✗ ${name} is not asked: ${keys.because}`)
    process.exitCode = 1
  } else {
    for await (const { question, wrong } of askAll(sandbox, keys)) {
      console.log(wrong === undefined ? `✓ ${name}: ${question}` : `✗ ${name}: ${question}: ${wrong}`)
      if (wrong !== undefined) process.exitCode = 1
    }
  }
}
