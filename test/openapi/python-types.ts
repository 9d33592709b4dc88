import type { Document, Schema } from './client-types.ts'
import { capital, EMITTED, type NamedTypes, namedTypes, nameOf } from './named-types.ts'

const HEADER = `# ${EMITTED}
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

`

const KEYWORDS = new Set(['from', 'in', 'is', 'class', 'import', 'global', 'pass'])

/** Types of the Python client. A TypedDict cannot contain another one without a name, so each gets its path as name. */
export function pythonTypes(document: Document): string {
  const named = namedTypes(document)
  const classes: string[] = []
  const [event] = named.slice(-1) as [NamedTypes[number]]
  for (const [name, schema] of named.slice(0, -1)) emitClass(name, schema, classes)
  const union = (event[1].anyOf ?? []).map(({ $ref }) => `    ${$ref},`).join('\n')
  return `${HEADER}${classes.join('')}\nWebhookEvent = Union[\n${union}\n]\n`
}

function emitClass(name: string, { properties = {}, required = [] }: Schema, classes: string[]): void {
  const members = Object.entries(properties).map(([member, schema]) => ({
    member,
    type: typeOf(schema, name + member.split(/[_-]/).map(capital).join(''), classes),
    isRequired: required.includes(member),
    description: schema.description,
  }))
  const [needed, optional] = [
    members.filter(({ isRequired }) => isRequired),
    members.filter((each) => !each.isRequired),
  ]
  const base = needed.length > 0 && optional.length > 0 ? `_${name}Required` : 'TypedDict'
  if (base !== 'TypedDict') classes.push(classOf(base, 'TypedDict', needed))
  const isTotal = optional.length === 0
  classes.push(classOf(name, isTotal ? base : `${base}, total=False`, isTotal ? needed : optional))
}

interface Member {
  member: string
  type: string
  description: string | undefined
}

function classOf(name: string, base: string, members: Member[]): string {
  if (members.some(({ member }) => KEYWORDS.has(member))) {
    const pairs = members.map(({ member, type }) => `        "${member}": "${type.replaceAll('"', "'")}",`).join('\n')
    const total = base.includes('total=False') ? '\n    total=False,' : ''
    return `\n${name} = TypedDict(\n    "${name}",\n    {\n${pairs}\n    },${total}\n)\n`
  }
  const lines = members.map(({ member, type, description }) => `${comment(description)}    ${member}: ${type}`)
  return `\nclass ${name}(${base}):\n${lines.join('\n') || '    pass'}\n\n`
}

function comment(text: string | undefined): string {
  return text ? text.replaceAll(/(?! )(.{1,108})( +|$)/g, '    #: $1\n') : ''
}

function typeOf(schema: Schema, path: string, classes: string[]): string {
  if (schema.$ref) return nameOf(schema.$ref)
  if (schema.const !== undefined) return literals([schema.const])
  const types = [schema.type ?? []].flat()
  const isNullable = types.includes('null')
  const optional = (type: string) => (isNullable ? `Optional[${type}]` : type)
  if (schema.enum) return optional(literals(schema.enum.filter((each) => each !== null)))
  if (schema.anyOf) {
    const parts = schema.anyOf.map((each, index) => typeOf(each, `${path}${index || ''}`, classes))
    return parts.length > 1 ? `Union[${parts.join(', ')}]` : (parts[0] as string)
  }
  if (schema.format === 'page-size') return 'int'
  const plain = types.filter((type) => type !== 'null').map((type) => plainType(type, schema, path, classes))
  if (plain.length === 0) return isNullable ? 'None' : 'Any'
  return optional(plain.length > 1 ? `Union[${plain.join(', ')}]` : (plain[0] as string))
}

function plainType(type: string, schema: Schema, path: string, classes: string[]): string {
  if (type === 'array') return `List[${typeOf(schema.items ?? {}, `${path}Item`, classes)}]`
  if (type === 'object') {
    if (Object.keys(schema.properties ?? {}).length > 0) {
      emitClass(path, schema, classes)
      return path
    }
    const values = schema.additionalProperties
    return `Dict[str, ${typeof values === 'object' ? typeOf(values, `${path}Value`, classes) : 'Any'}]`
  }
  return { string: 'str', integer: 'int', number: 'float', boolean: 'bool' }[type] ?? 'Any'
}

const literals = (values: unknown[]) => `Literal[${values.map((each) => JSON.stringify(each)).join(', ')}]`
