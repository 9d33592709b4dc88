import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Command, Failure, Options, Reply } from './protocol.ts'

export interface Heard {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
  at: number
}

export type Manner = (heard: Heard, response: ServerResponse) => void

/** A server that a scenario controls. */
export interface Server {
  origin: string
  heard: Heard[]
  answer: Manner
  close(): void
}

export interface Customer {
  reference: string
}

/** A merchant of the real service. */
export interface Shop {
  clientId: string
  clientSecret: string
  /** Pays a started card payment at the sandbox provider. */
  pay(providerReference: string): Promise<void>
  isPaid(reference: string): Promise<void>
  addPayments(count: number): Promise<void>
}

/** What a scenario needs of the place where it runs. */
export interface Surroundings {
  baseUrl: string
  send(command: Command): Promise<Reply>
  addShop(): Promise<Shop>
  listen(answer?: Manner): Promise<Server>
  /** Passes requests on to the service, and breaks the connections of the first ones when the answer has come. */
  relay(options: { loses: number }): Promise<Server>
}

// biome-ignore lint/suspicious/noExplicitAny: the API's own contract defines the shape of each answer
type Answer = any

export interface World extends Surroundings {
  openAt(baseUrl: string, credentials?: { clientId: string; clientSecret: string }): Promise<void>
  openShop(): Promise<Shop>
  call(name: string, args: unknown[], options?: Options): Promise<Answer>
  page(name: string, args: unknown[]): Promise<Answer>
  all(name: string, args: unknown[]): Promise<Answer>
  csv(name: string, args: unknown[]): Promise<string>
  refused(name: string, args: unknown[], options?: Options): Promise<Failure>
}

export function worldOf(surroundings: Surroundings): World {
  const { send, baseUrl, addShop } = surroundings
  const answered = async (command: Command): Promise<Answer> => {
    const { answer, error } = await send(command)
    if (error) throw new Error(`${JSON.stringify(command)}: ${error.kind}: ${error.message}`)
    return answer
  }
  const openAt: World['openAt'] = (at, credentials = { clientId: 'cid_x', clientSecret: 'sec_x' }) => {
    const { clientId, clientSecret } = credentials
    return answered({ do: 'open', options: { baseUrl: at, clientId, clientSecret } })
  }
  return {
    ...surroundings,
    openAt,
    async openShop() {
      const shop = await addShop()
      await openAt(baseUrl, shop)
      return shop
    },
    call: (call, args, options = {}) => answered({ do: 'call', call, args, options }),
    page: (call, args) => answered({ do: 'page', call, args }),
    all: (call, args) => answered({ do: 'all', call, args }),
    csv: (call, args) => answered({ do: 'csv', call, args }),
    async refused(call, args, options = {}) {
      const { error } = await send({ do: 'call', call, args, options })
      return error ?? assert.fail(`${call} was not refused`)
    },
  }
}
