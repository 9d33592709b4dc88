import type { TestEvent } from 'node:test/reporters'

/**
 * A reporter for Node's test runner: the path of each test file that passed, one a line. With a process for each file,
 * the runner reports file by file, each with a summary at its end. A hook that fails is not part of the summary's
 * `success`. A file that cannot be loaded, and one whose report is lost, has no summary. With one process for all files
 * there is only a summary of all.
 */
export default async function* passedFiles(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const passed = new Set<string>()
  const failed = new Set<string>()
  let isolated = false
  let hasFailure = false
  for await (const { type, data } of source) {
    if (type === 'test:fail') {
      hasFailure = true
      failed.add(data.file ?? '')
    }
    if (type === 'test:pass') passed.add(data.file ?? '')
    if (type !== 'test:summary') continue
    if (data.file) {
      isolated = true
      if (!hasFailure && data.success && data.counts.tests > 0) yield `${data.file}\n`
      hasFailure = false
    } else if (!isolated) {
      yield* [...passed].filter((file) => !failed.has(file)).map((file) => `${file}\n`)
    }
  }
}
