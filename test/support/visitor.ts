import assert from 'node:assert/strict'
import { stateIn } from './every-state.ts'

/** A customer's browser without scripts: follows redirects, sends forms, and stops at a shop's URL. */
export interface Visitor {
  url: string
  status: number
  text: string
  /** The state of our page; undefined on another page. */
  state: string | undefined
  /** The status and redirect of every answer. */
  hops: { status: number; url: string }[]
  go(url: string): Promise<void>
  /** Sends the form that has all of these values, with its other fields and `more`. Undefined leaves a field out. */
  send(has: Record<string, string>, more?: Record<string, string | undefined>): Promise<void>
  /** A button of a provider's own page. */
  press(button: 'pay' | 'decline' | 'cancel'): Promise<void>
  /** From our page on to the provider's, as the link there says. */
  goOn(): Promise<void>
}

export const SHOP = 'https://shop.example'

export function newVisitor(): Visitor {
  async function request(url: string, init: RequestInit = {}): Promise<void> {
    let next = { url, init }
    for (let hop = 0; hop < 10; hop++) {
      const response = await fetch(next.url, { ...next.init, redirect: 'manual' })
      const { status } = response
      visitor.hops.push({ status, url: next.url })
      Object.assign(visitor, { url: next.url, status, text: await response.text() })
      visitor.state = stateIn(visitor.text)
      const location = response.headers.get('location')
      if (status < 300 || status >= 400 || !location) return
      next = { url: new URL(location, next.url).href, init: {} }
      if (!next.url.startsWith(SHOP)) continue
      Object.assign(visitor, { url: next.url, status: 200, text: '', state: undefined })
      return
    }
    assert.fail(`${url} leads nowhere`)
  }

  const post = (url: string, fields: Record<string, string | undefined>) => {
    const form = new URLSearchParams()
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value)
    return request(url, { method: 'POST', body: form })
  }

  const visitor: Visitor = {
    url: '',
    status: 0,
    text: '',
    state: undefined,
    hops: [],
    go: (url) => request(url),
    async send(has, more = {}) {
      const forms = formsIn(visitor.text)
      const form = forms.find(({ fields }) => Object.entries(has).every(([name, value]) => fields[name] === value))
      assert.ok(form, `there is a form with ${JSON.stringify(has)} in the state ${visitor.state}`)
      await post(new URL(form.action, visitor.url).href, { ...form.fields, ...more })
    },
    press: (button) => post(visitor.url, { press: button }),
    async goOn() {
      const link = /data-(?:go|frame)="([^"]+)"/.exec(visitor.text)?.[1]
      assert.ok(link, `the page leads on in the state ${visitor.state}`)
      await request(unescaped(link))
    },
  }
  return visitor
}

interface Form {
  action: string
  /** The fields that a browser sends by default: hidden and checked ones. */
  fields: Record<string, string>
}

function formsIn(text: string): Form[] {
  return [...text.matchAll(/<form[^>]* action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].map(
    ([, action = '', inside = '']) => {
      const fields: Record<string, string> = {}
      for (const [input] of inside.matchAll(/<input[^>]*>/g)) {
        const [name, value, type] = ['name', 'value', 'type'].map((each) => attribute(input, each))
        const isOn = type === 'hidden' || / checked\b/.test(input)
        if (name && value !== undefined && isOn) fields[name] = value
      }
      return { action: unescaped(action), fields }
    },
  )
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescaped(value)
}

function unescaped(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' }
  return text.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code, name) =>
    code ? String.fromCodePoint(Number(code)) : (named[name] ?? whole),
  )
}
