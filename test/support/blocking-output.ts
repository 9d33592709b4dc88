// A test process is ended as soon as its tests are (--test-force-exit). Output that is not written by then would be
// lost, and with it the report of the last tests. Blocking writes are done when they return.
for (const { _handle } of [process.stdout, process.stderr] as { _handle?: { setBlocking?(blocking: boolean): void } }[])
  _handle?.setBlocking?.(true)
