export interface Waiting {
  begin(): void
}

/** So many inside for each place; the others wait in line, in order. */
export function createLines(maxInside: number, maxWaiting: number) {
  const places = new Map<string, { inside: number; line: Set<Waiting> | null }>()
  return {
    /** Begins at once or later. False if the line is full. Who began must leave, once. */
    enter(name: string, one: Waiting): boolean {
      const place = places.get(name)
      if (place && place.inside >= maxInside) {
        place.line ??= new Set()
        return place.line.size < maxWaiting && place.line.add(one).has(one)
      }
      if (place) place.inside++
      else places.set(name, { inside: 1, line: null })
      one.begin()
      return true
    },
    leave(name: string): void {
      const place = places.get(name)
      if (!place) return
      const [next] = place.line ?? []
      if (next) {
        place.line?.delete(next)
        next.begin()
      } else if (--place.inside === 0) places.delete(name)
    },
    /** Waits no longer. */
    giveUp(name: string, one: Waiting): void {
      places.get(name)?.line?.delete(one)
    },
  }
}
