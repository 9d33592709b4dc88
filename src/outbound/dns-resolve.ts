import { promises as dns, type LookupAddress } from 'node:dns'

/** As `dns.promises.lookup(name, { all: true })`. */
export type Resolve = (hostname: string) => Promise<Pick<LookupAddress, 'address'>[]>

export const resolveAsSystem: Resolve = (hostname) => dns.lookup(hostname, { all: true })

/**
 * Resolves by DNS. getaddrinfo would block one of the few libuv threads for each name, so that two merchants with a
 * silent name server would stop every other lookup. It would also read /etc/hosts and search domains, which are
 * private.
 */
export function createDnsResolve(servers?: string[]): Resolve {
  const resolver = new dns.Resolver({ timeout: 1_000, tries: 2 })
  if (servers) resolver.setServers(servers)
  return async (hostname) => {
    const families = [resolver.resolve4(hostname), resolver.resolve6(hostname)]
    const answers = await Promise.allSettled(families)
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const [ipv4] = answers
    if (found.length === 0 && ipv4?.status === 'rejected') throw ipv4.reason
    return found.map((address) => ({ address }))
  }
}

export const resolveByDns: Resolve = createDnsResolve()
