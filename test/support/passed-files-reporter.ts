import type { TestEvent } from 'node:test/reporters'

/**
 * A reporter for Node's test runner: the path of each test file that passed, one a line. The runner reports file by file, each with a summary at
 * its end. A hook that fails is not part of the summary's `success`. A file that cannot be loaded, and one whose report is lost, has no summary.
 */
export default async function* passedFiles(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let hasFailure = false
  for await (const event of source) {
    if (event.type === 'test:fail') hasFailure = true
    if (event.type !== 'test:summary' || !event.data.file) continue
    const { file, success, counts } = event.data
    if (!hasFailure && success && counts.tests > 0) yield `${file}\n`
    hasFailure = false
  }
}
