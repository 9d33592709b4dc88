import type { Document } from './client-types.ts'
import { capital, EMITTED } from './named-types.ts'
import { type Method, surface } from './surface.ts'

/** What the Python client can do, and the same for asyncio. */
export function pythonResources(document: Document, { isAsync }: { isAsync: boolean }): string {
  const [listing, transport] = isAsync ? ['AsyncListing', 'AsyncTransport'] : ['Listing', 'Transport']
  const resources = surface(document)
  const classes = resources.map(
    ({ name, methods }) =>
      `class ${capital(name)}(_Resource):\n${methods.map((each) => methodOf(each, isAsync)).join('\n')}`,
  )
  return `# ${EMITTED}
from __future__ import annotations

import http.client
from typing import Any, List, Mapping, Optional
from urllib.parse import quote

from . import _types as t
from ._listing import ${listing}
from ._transport import Options, ${transport}, refund_body


def _id(text: str) -> str:
    return quote(text, safe="")


class _Resource:
    def __init__(self, calls: ${transport}) -> None:
        self._calls = calls

    def _list(self, options: Options, path: str, query: Optional[Mapping[str, Any]]) -> ${listing}[Any]:
        return ${listing}(lambda given: self._calls.json(options, "GET", path, query=given), query)


${classes.join('\n\n')}

class Resources:
    def __init__(self, calls: ${transport}) -> None:
${resources.map(({ name }) => `        self.${snake(name)} = ${capital(name)}(calls)`).join('\n')}
`
}

function methodOf(method: Method, isAsync: boolean): string {
  const { name, http, path, parameters, query, body, kind, answer, doc, once, doneIf, whole } = method
  const given = [
    'self',
    ...parameters.map((each) => `${each}: str`),
    ...[body && argument('body', body), query && argument('query', query)].filter(Boolean),
    'options: Options = None',
  ]
  const target = path.includes('{') ? `f"${path.replaceAll(/\{(\w+)\}/g, '{_id($1)}')}"` : `"${path}"`
  const more = [
    body && `body=${method.operation === 'refundPayment' ? 'refund_body(body, options)' : 'body'}`,
    query && 'query=query',
    once && 'once=True',
    doneIf && `done_if="${doneIf}"`,
    doneIf && kind === 'data' && `then_get=${target.replace('/cancel"', '"')}`,
  ].filter(Boolean)
  const type = answer.isArray ? `List[t.${answer.type}]` : `t.${answer.type}`
  const [returned, call] = {
    data: [type, `self._calls.${[whole ? 'json' : 'data']}(${['options', `"${http}"`, target, ...more].join(', ')})`],
    list: [`${isAsync ? 'AsyncListing' : 'Listing'}[t.${answer.type}]`, `self._list(options, ${target}, query)`],
    nothing: ['None', `self._calls.json(${['options', `"${http}"`, target, ...more].join(', ')})`],
    stream: ['http.client.HTTPResponse', `self._calls.stream(options, ${target}, query)`],
  }[kind] as [string, string]
  const isAwaited = isAsync && kind !== 'list'
  const signature = `${isAwaited ? 'async ' : ''}def ${snake(name)}(`
  const line = `    ${signature}${given.join(', ')}) -> ${returned}:`
  const head = line.length <= 120 ? line : `    ${signature}\n        ${given.join(', ')}\n    ) -> ${returned}:`
  const text = doc ? `        """${doc.replaceAll(/(?! )(.{1,100})( +|$)/g, '$1\n        ').trim()}"""\n` : ''
  return `${head}\n${text}        ${kind === 'nothing' ? '' : 'return '}${isAwaited ? 'await ' : ''}${call}\n`
}

const argument = (name: string, { type, isRequired }: { type: string; isRequired: boolean }) =>
  isRequired ? `${name}: t.${type}` : `${name}: Optional[t.${type}] = None`

const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
