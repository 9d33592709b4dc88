import type { Database } from '../../database/database.ts'
import { findingsOf, type Settlement } from '../state/settlement.ts'
import { oddLines, sumLines } from '../store/settlement-lines.ts'
import { hasCase, settlementsAfter } from '../store/settlements.ts'

const PAGE = 500

export interface SettlementFinding {
  settlement: string
  finding: string
}

/** Sums up the lines of all settlements again. What a case says already is no finding. */
export async function auditSettlements(
  database: Database,
): Promise<{ settlements: number; findings: SettlementFinding[] }> {
  const findings: SettlementFinding[] = []
  let settlements = 0
  for (let last: Settlement | undefined, page: Settlement[] = []; ; ) {
    page = await settlementsAfter(database, last, PAGE)
    for (const of of page) {
      const isRead = of.linesState === 'read'
      const found = findingsOf(of, await sumLines(database, of), isRead ? await oddLines(database, of) : [])
      const finding = found.join(' ')
      if (finding && !(await hasCase(database, of, finding))) findings.push({ settlement: of.id, finding })
    }
    settlements += page.length
    last = page.at(-1)
    if (page.length < PAGE) return { settlements, findings }
  }
}
