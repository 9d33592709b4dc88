import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import { MerchantContext } from '../session.ts'

let isFirst = true

interface Parts {
  title: string
  /** One sentence below the title. */
  about?: ComponentChildren
  /** Buttons beside the title. */
  actions?: ComponentChildren
  children: ComponentChildren
}

/** A screen: the title of the document, the heading that gets the focus after a navigation, and the content. */
export function Screen({ title, about, actions, children }: Parts) {
  const heading = useRef<HTMLHeadingElement>(null)
  const merchant = useContext(MerchantContext)
  useEffect(() => {
    document.title = [title, merchant?.name, 'Manilla'].filter(Boolean).join(' · ')
  }, [title, merchant?.name])
  useEffect(() => {
    if (!isFirst) heading.current?.focus()
    isFirst = false
  }, [])
  return (
    <div class="screen">
      <div class="screen-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about && <p class="about">{about}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** A screen before the sign-in: one column. The first control gets the focus when the screen follows another. */
export function PublicScreen({ title, about, children }: Parts) {
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = `${title} · Manilla`
  }, [title])
  useEffect(() => {
    if (!isFirst) main.current?.querySelector<HTMLElement>('input, .first, h1')?.focus()
    isFirst = false
  }, [])
  return (
    <main class="public" ref={main}>
      <p class="brand">Manilla</p>
      <h1 tabIndex={-1}>{title}</h1>
      {about && <p class="about">{about}</p>}
      {children}
    </main>
  )
}

/** A part of a screen with its own heading. */
export function Section({ title, about, actions, children }: Parts) {
  return (
    <section class="section">
      <div class="section-head">
        <div>
          <h2>{title}</h2>
          {about && <p class="about">{about}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

/** Names and values; those without a value are left out. */
export function Facts({ facts }: { facts: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="details">
      {facts
        .filter(([, value]) => value !== null && value !== '')
        .map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  )
}
