import type { TestEvent } from 'node:test/reporters'

/**
 * A reporter for Node's test runner: the path of each test file that failed, one a line, some of them twice. The runner reports file by file,
 * each with a summary at its end. A hook that fails is not part of the summary's `success`, and names the file in which the hook stands. A file
 * that cannot be loaded has no summary, and is named by its failure.
 */
export default async function* failedFiles(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let hasFailure = false
  for await (const event of source) {
    if (event.type === 'test:fail') {
      hasFailure = true
      if (event.data.file) yield `${event.data.file}\n`
    }
    if (event.type !== 'test:summary' || !event.data.file) continue
    if (hasFailure || !event.data.success) yield `${event.data.file}\n`
    hasFailure = false
  }
}
