import type { ComponentType, FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { ProblemPanel } from './problem.tsx'

type Load = () => Promise<{ default: ComponentType }>

/** A component whose script is loaded when it is first shown. */
export function lazy(load: Load): FunctionComponent<object> {
  let loaded: ComponentType | undefined
  return function Lazy() {
    const [Component, setComponent] = useState<{ shown: ComponentType } | undefined>(loaded && { shown: loaded })
    const [failed, setFailed] = useState(false)
    useEffect(() => {
      if (Component || failed) return
      let isShown = true
      load().then(
        (module) => {
          loaded = module.default
          if (isShown) setComponent({ shown: module.default })
        },
        () => isShown && setFailed(true),
      )
      return () => {
        isShown = false
      }
    }, [failed])
    if (Component) return <Component.shown />
    // A browser remembers that a module failed, and a new version has other file names: both need a new document.
    if (failed) return <ProblemPanel error={new ApiError(0, {})} retry={() => window.location.reload()} />
    return <p class="late">Loading …</p>
  }
}
