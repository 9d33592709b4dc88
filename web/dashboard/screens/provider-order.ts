import type { HTMLAttributes } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { send } from '../api.ts'
import { useAction } from '../components/data.ts'
import { announce } from '../components/toasts.tsx'
import type { ProviderRow } from '../payment-answers.ts'
import { client, useMerchant } from '../session.ts'

/** The providers in use in their order, changed by drag or by buttons. A change shows at once, before it is saved. */
export function useOrder(rows: ProviderRow[] | undefined, path: string) {
  const merchant = useMerchant()
  const [dragged, setDragged] = useState<ProviderRow>()
  const [target, setTarget] = useState<string>()
  const order = useAction({
    run: async (names: string[]) => {
      await send('PUT', merchant.api('/provider-order'), { providers: names })
      await client.invalidateQueries({ queryKey: [path] }) // until then the rows are in the order before
    },
  })
  const saved = rows?.filter(({ integration }) => integration?.enabled)
  const wanted = order.isPending ? order.variables : undefined
  const used = wanted ? saved?.slice().sort((a, b) => wanted.indexOf(a.provider) - wanted.indexOf(b.provider)) : saved

  // A row that is moved in the document loses the focus.
  const focused = useRef<HTMLElement | null>(null)
  const names = used?.map(({ provider }) => provider).join()
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focused.current?.focus()
  }, [names])

  function moveTo(row: ProviderRow, index: number) {
    if (!used || order.isPending || index < 0 || index >= used.length) return
    const next = used.map(({ provider }) => provider).filter((name) => name !== row.provider)
    next.splice(index, 0, row.provider)
    if (next.every((name, at) => name === used[at]?.provider)) return
    focused.current = document.activeElement as HTMLElement | null
    const text = `${row.title} is now number ${index + 1} of ${next.length}`
    order.mutate(next, { onSuccess: () => announce(text) })
  }

  const rowProps = (row: ProviderRow): HTMLAttributes<HTMLTableRowElement> => ({
    draggable: (used?.length ?? 0) > 1,
    class: [row === dragged && 'dragged', dragged && row.provider === target && 'drop-here'].filter(Boolean).join(' '),
    onDragStart: (event) => {
      if (event.dataTransfer) event.dataTransfer.effectAllowed = 'move'
      setDragged(row)
    },
    onDragOver: (event) => {
      if (!dragged) return // something from elsewhere
      event.preventDefault()
      setTarget(row.provider)
    },
    onDrop: (event) => {
      event.preventDefault()
      if (dragged) moveTo(dragged, used?.indexOf(row) ?? -1)
    },
    onDragEnd: () => {
      setDragged(undefined)
      setTarget(undefined)
    },
  })
  return { used, order, moveTo, rowProps }
}
