import type { Document } from './client-types.ts'
import { phpResources, phpTypes } from './php.ts'
import { pythonResources } from './python-resources.ts'
import { pythonTypes } from './python-types.ts'

/** The files of the PHP and the Python client that follow from the API, by their paths. */
export function emittedClients(document: Document): Map<string, string> {
  const python = 'clients/python/src/manilla'
  const php = 'clients/php/src'
  return new Map([
    [`${python}/_types.py`, pythonTypes(document)],
    [`${python}/_resources.py`, pythonResources(document, { isAsync: false })],
    [`${python}/_async_resources.py`, pythonResources(document, { isAsync: true })],
    [`${php}/Types.php`, phpTypes(document)],
    ...[...phpResources(document)].map(([name, text]): [string, string] => [`${php}/${name}`, text]),
  ])
}
