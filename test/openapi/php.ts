import type { Document, Schema } from './client-types.ts'
import { capital, EMITTED, namedTypes, nameOf } from './named-types.ts'
import { type Method, type Resource, surface } from './surface.ts'

/** Array shapes of the PHP client, for PHPStan and Psalm. */
export function phpTypes(document: Document): string {
  const lines = namedTypes(document).map(([name, schema]) => ` * @phpstan-type ${name} ${typeOf(schema)}`)
  return `<?php

// ${EMITTED}

declare(strict_types=1);

namespace Manilla;

/**
 * The shapes of requests, answers and events. Use them with \`@phpstan-import-type Payment from \\Manilla\\Types\`.
 *
${lines.join('\n')}
 */
final class Types
{
}
`
}

/** The files of what the PHP client can do, by their names. */
export function phpResources(document: Document): Map<string, string> {
  const resources = surface(document)
  return new Map([
    ['Manilla.php', entryOf(resources)],
    ...resources.map((each): [string, string] => [`Resources/${capital(each.name)}.php`, classOf(each)]),
  ])
}

function entryOf(resources: Resource[]): string {
  const fields = resources.map(({ name }) => `    public Resources\\${capital(name)} $${name};`).join('\n')
  const made = resources
    .map(({ name }) => `        $this->${name} = new Resources\\${capital(name)}($calls);`)
    .join('\n')
  return `<?php

// ${EMITTED}

declare(strict_types=1);

namespace Manilla;

/**
 * \`new Manilla(['baseUrl' => 'https://pay.example.com', 'clientId' => …, 'clientSecret' => …])\`.
 * Reference: {baseUrl}/docs
 *
 * @phpstan-import-type ManillaOptions from Transport
 */
final class Manilla
{
${fields}
    public Webhooks $webhooks;

    /** @param ManillaOptions $options */
    public function __construct(
        #[\\SensitiveParameter]
        array $options
    ) {
        $calls = new Transport($options);
${made}
        $this->webhooks = new Webhooks();
    }
}
`
}

function classOf({ name, methods }: Resource): string {
  const types = new Set(methods.flatMap(({ query, body, answer }) => [query?.type, body?.type, answer.type]))
  const text = methods.map(methodOf).join('\n')
  const imports = [...types].filter((type) => type && new RegExp(`\\b${type}\\b`).test(text)).sort()
  return `<?php

// ${EMITTED}

declare(strict_types=1);

namespace Manilla\\Resources;

use Manilla\\Listing;
use Manilla\\Transport;

/**
${imports.map((type) => ` * @phpstan-import-type ${type} from \\Manilla\\Types\n`).join('')} * @phpstan-import-type CallOptions from \\Manilla\\Transport
 */
final class ${capital(name)}
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

${text}}
`.replace(text.includes('Listing') ? '' : 'use Manilla\\Listing;\n', '')
}

function methodOf(method: Method): string {
  const { name, http, path, parameters, query, body, kind, answer, doc, once, doneIf, whole } = method
  const inputs = [body && { ...body, name: 'body' }, query && { ...query, name: 'query' }].filter((each) => !!each)
  const given = [
    ...parameters.map((each) => `string $${each}`),
    ...inputs.map((each) => `array $${each.name}${each.isRequired ? '' : ' = []'}`),
    'array $options = []',
  ]
  const target = path
    .split(/[{}]/)
    .map((part, index) => (index % 2 === 0 ? `'${part}'` : `rawurlencode($${part})`))
    .filter((part) => part !== "''")
    .join(' . ')
  const more = [
    body && `'body' => ${method.operation === 'refundPayment' ? 'Transport::refundBody($body, $options)' : '$body'}`,
    query && `'query' => $query`,
    once && `'once' => true`,
    doneIf && `'doneIf' => '${doneIf}'`,
    doneIf && kind === 'data' && `'thenGet' => ${target.replace(" . '/cancel'", '')}`,
  ].filter(Boolean)
  const extra = more.length > 0 ? `, [${more.join(', ')}]` : ''
  const type = answer.isArray ? `list<${answer.type}>` : answer.type
  const [returns, shape, call] = {
    data: ['array', type, `return $this->calls->${whole ? 'json' : 'data'}($options, '${http}', ${target}${extra});`],
    list: [
      'Listing',
      `Listing<${answer.type}>`,
      `return new Listing(fn (array $page) => $this->calls->json($options, 'GET', ${target}, ['query' => $page]), $query);`,
    ],
    nothing: ['void', '', `$this->calls->json($options, '${http}', ${target}${extra});`],
    stream: ['', 'resource', `return $this->calls->stream($options, ${target}, $query);`],
  }[kind] as [string, string, string]
  const documented = [
    ...(doc
      ? [
          ...(doc
            .replaceAll(/(?! )(.{1,100})( +|$)/g, '$1\n')
            .trim()
            .split('\n') ?? []),
          '',
        ]
      : []),
    ...inputs.map((each) => `@param ${each.type} $${each.name}`),
    '@param CallOptions $options',
    ...(shape ? [`@return ${shape}`] : []),
  ]
  return `    /**
${documented.map((line) => `     *${line ? ` ${line}` : ''}`).join('\n')}
     */
    public function ${name}(${given.join(', ')})${returns ? `: ${returns}` : ''}
    {
        ${call}
    }
`
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return nameOf(schema.$ref)
  if (schema.const !== undefined) return literal(schema.const)
  const types = [schema.type ?? []].flat()
  const orNull = types.includes('null') ? '|null' : ''
  if (schema.enum)
    return (
      schema.enum
        .filter((each) => each !== null)
        .map(literal)
        .join('|') + orNull
    )
  if (schema.anyOf) return schema.anyOf.map(typeOf).join('|')
  if (schema.format === 'page-size') return 'int'
  const plain = types.filter((type) => type !== 'null').map((type) => plainType(type, schema))
  return plain.length > 0 ? plain.join('|') + orNull : orNull ? 'null' : 'mixed'
}

function plainType(type: string, schema: Schema): string {
  if (type === 'array') return `list<${typeOf(schema.items ?? {})}>`
  if (type !== 'object') return { integer: 'int', number: 'float', boolean: 'bool', string: 'string' }[type] ?? 'mixed'
  const { properties = {}, required = [], additionalProperties } = schema
  const members = Object.entries(properties).map(
    ([name, each]) => `${name}${required.includes(name) ? '' : '?'}: ${typeOf(each)}`,
  )
  if (members.length > 0) return `array{${members.join(', ')}}`
  return `array<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'mixed'}>`
}

const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value))
