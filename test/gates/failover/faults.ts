import type { Cluster } from './cluster.ts'
import type { DatabaseNode } from './node.ts'

export interface Fault {
  name: string
  /** The primary cannot stay the primary. */
  replacesLeader: boolean
  /** Returns what ends it. */
  begin(leader: DatabaseNode, cluster: Cluster): Promise<() => Promise<void>>
}

export const FAULTS: Fault[] = [
  {
    name: 'kill -9',
    replacesLeader: true,
    async begin(leader) {
      leader.kill()
      return async () => {
        await leader.stop()
        leader.start()
      }
    },
  },
  {
    name: 'freeze',
    replacesLeader: true,
    async begin(leader) {
      leader.freeze()
      return async () => leader.thaw()
    },
  },
  {
    name: 'partition',
    replacesLeader: true,
    async begin(leader) {
      leader.cutOff()
      return async () => leader.connect()
    },
  },
  {
    name: 'restart each',
    replacesLeader: false,
    async begin(_leader, cluster) {
      for (const node of cluster.nodes) {
        await node.stop()
        node.start()
        await cluster.untilHealthy()
      }
      return async () => {}
    },
  },
]
