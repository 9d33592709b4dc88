import { useEffect, useState } from 'preact/hooks'

const WAIT_MS = 250

/** The value after it has not changed for a moment: a request for each key would be wasted. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), WAIT_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
