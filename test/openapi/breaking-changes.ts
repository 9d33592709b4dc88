/**
 * What a new description takes away from, or demands of, clients that were written for the old one. /v1 changes by
 * addition only, so this list must be empty: a breaking change is a new path segment.
 */
type Json = { [key: string]: Json } & { required?: string[]; enum?: unknown[]; type?: string | string[] } & Json[]

export function breakingChanges(before: unknown, after: unknown): string[] {
  const found: string[] = []
  const [old, now] = [before as Json, after as Json]
  for (const [path, methods] of Object.entries(old.paths ?? {})) {
    for (const [method, operation] of Object.entries(methods as Json)) {
      const where = `${method.toUpperCase()} ${path}`
      const next = now.paths?.[path]?.[method]
      if (!next) {
        found.push(`${where}: gone`)
        continue
      }
      const resolve = (root: Json) => (schema: Json | undefined) => follow(root, schema)
      const content = (root: Json, message: Json | undefined) =>
        resolve(root)(Object.values(message?.content ?? {})[0]?.schema as Json)
      compareRequest(
        where,
        content(old, operation.requestBody as Json),
        content(now, next.requestBody as Json),
        found,
        old,
        now,
      )
      for (const [status, answer] of Object.entries(operation.responses ?? {})) {
        if (!next.responses?.[status]) found.push(`${where}: no longer answers ${status}`)
        else
          compareAnswer(
            `${where} ${status}`,
            content(old, answer as Json),
            content(now, next.responses[status] as Json),
            found,
            old,
            now,
          )
      }
      const asked = (op: Json) => (op.parameters ?? []) as unknown as { name: string; required?: boolean }[]
      for (const parameter of asked(operation)) {
        if (!asked(next).some(({ name }) => name === parameter.name))
          found.push(`${where}: parameter ${parameter.name} is gone`)
      }
      for (const parameter of asked(next)) {
        const known = asked(operation).find(({ name }) => name === parameter.name)
        if (parameter.required && !known?.required) found.push(`${where}: parameter ${parameter.name} is now required`)
      }
    }
  }
  return found
}

function follow(root: Json, schema: Json | undefined): Json | undefined {
  const reference = schema?.$ref as unknown as string | undefined
  if (!reference) return schema
  return reference
    .slice(2)
    .split('/')
    .reduce<Json | undefined>((at, part) => at?.[part], root)
}

const types = (schema: Json | undefined) => [schema?.type ?? []].flat() as string[]

/** A request may not require more than before. */
function compareRequest(
  where: string,
  old: Json | undefined,
  now: Json | undefined,
  found: string[],
  oldRoot: Json,
  nowRoot: Json,
): void {
  if (!now) {
    if (old) found.push(`${where}: takes no body any more`)
    return
  }
  for (const name of now.required ?? [])
    if (!old?.required?.includes(name)) found.push(`${where}: ${name} is now required`)
  for (const type of types(old)) if (!types(now).includes(type)) found.push(`${where}: no longer takes ${type}`)
  for (const [name, member] of Object.entries(old?.properties ?? {})) {
    const next = follow(nowRoot, now.properties?.[name] as Json)
    if (!next) found.push(`${where}: ${name} is no longer known`)
    else compareRequest(`${where} ${name}`, follow(oldRoot, member as Json), next, found, oldRoot, nowRoot)
  }
  for (const [limit, tighter] of [
    ['maximum', -1],
    ['maxLength', -1],
    ['maxProperties', -1],
    ['minimum', 1],
    ['minLength', 1],
  ] as const) {
    const [a, b] = [old?.[limit] as unknown as number | undefined, now[limit] as unknown as number | undefined]
    if (b !== undefined && (a === undefined || (b - a) * tighter > 0)) found.push(`${where}: ${limit} is now ${b}`)
  }
}

/** A response must still have each field, of the same type. */
function compareAnswer(
  where: string,
  old: Json | undefined,
  now: Json | undefined,
  found: string[],
  oldRoot: Json,
  nowRoot: Json,
): void {
  if (!old) return
  if (!now) return void found.push(`${where}: no longer described`)
  for (const name of old.required ?? [])
    if (!now.required?.includes(name)) found.push(`${where}: ${name} may now be missing`)
  for (const type of types(now)) if (!types(old).includes(type)) found.push(`${where}: may now be ${type}`)
  for (const [name, member] of Object.entries(old.properties ?? {})) {
    compareAnswer(
      `${where} ${name}`,
      follow(oldRoot, member as Json),
      follow(nowRoot, now.properties?.[name] as Json),
      found,
      oldRoot,
      nowRoot,
    )
  }
  if (old.items)
    compareAnswer(
      `${where}[]`,
      follow(oldRoot, old.items as Json),
      follow(nowRoot, now.items as Json),
      found,
      oldRoot,
      nowRoot,
    )
}
